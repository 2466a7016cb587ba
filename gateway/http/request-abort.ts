import type { ServerResponse } from "node:http";

/** The client went before it had its answer: no failure of anybody. */
export class ClientLeft extends Error {
  override readonly name = "ClientLeft";

  constructor() {
    super("the client left");
  }
}

/** When a request is given up: the client leaves before it has its answer, or a deadline passes. */
export class RequestAbort {
  readonly #controller = new AbortController();
  #deadline: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    response.once("close", () => {
      clearTimeout(this.#deadline);
      if (!response.writableEnded) this.#controller.abort(new ClientLeft());
    });
  }

  /** Aborts when the request is given up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Sets the deadline, from now. */
  within(ms: number): void {
    clearTimeout(this.#deadline);
    const late = () => this.#controller.abort(new Error(`the operation took longer than ${ms} ms`));
    this.#deadline = setTimeout(late, ms).unref();
  }
}
