import type { ServerResponse } from "node:http";
import { runInTurn } from "../../src/kernel/async/shared-turns.ts";
import { whenClosed } from "../../src/kernel/async/when-closed.ts";

/** The client disconnected before it received its response. Not an error. */
export class ClientLeft extends Error {
  override readonly name = "ClientLeft";

  constructor() {
    super("the client left");
  }
}

/**
 * Aborts a request when the client disconnects before its response is complete, also if it already has, or when a
 * deadline passes. The requests of many clients that leave at once are aborted in several turns of the event loop.
 */
export class RequestAbort {
  readonly #controller = new AbortController();
  #deadline: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    const hasLeft = response.closed;
    const abort = () => this.#controller.abort(new ClientLeft());
    whenClosed(response, () => {
      clearTimeout(this.#deadline);
      if (response.writableEnded) return;
      if (hasLeft) abort();
      else runInTurn(abort);
    });
  }

  /** Aborts when the request is abandoned. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Sets the deadline, counted from now. */
  within(ms: number): void {
    clearTimeout(this.#deadline);
    const late = () => this.#controller.abort(new Error(`the operation took longer than ${ms} ms`));
    this.#deadline = setTimeout(late, ms).unref();
  }
}
