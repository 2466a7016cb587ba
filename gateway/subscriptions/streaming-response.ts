import type { ServerResponse } from "node:http";
import { runInTurn } from "../../src/kernel/async/shared-turns.ts";
import { whenClosed } from "../../src/kernel/async/when-closed.ts";
import { limitUnreadEnd, resetConnection } from "../../src/rest/http/reset-connection.ts";

/** How a streaming connection is kept alive and given up. */
export type StreamingResponseOptions = {
  /** How long written data may stay unread. */
  readonly stallMs: number;
  /** Written at regular intervals to keep a quiet connection alive. */
  readonly heartbeat: string;
  readonly heartbeatMs: number;
  /** Sent before the first heartbeat. */
  readonly first?: string;
};

/**
 * A response that is written in pieces. A writer waits until the client reads, so that nothing piles up here; a
 * client that reads nothing for `stallMs` is disconnected.
 */
export class StreamingResponse {
  readonly #response: ServerResponse;
  readonly #options: StreamingResponseOptions;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  /** Shared by the writers that wait: an event stream carries many operations. */
  #drain: Promise<boolean> | undefined;
  #isClosed = false;

  /**
   * Starts the response and adds it to `among` until it ends. `onClose` runs once, however it ends: during the call if
   * the client has already left, else in a turn of the event loop that has time for it, as thousands of connections end
   * at once when a proxy restarts.
   */
  constructor(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    options: StreamingResponseOptions & { readonly among: Set<StreamingResponse> },
    onClose: () => void,
  ) {
    this.#response = response;
    this.#options = options;
    options.among.add(this);
    const hasLeft = response.closed;
    whenClosed(response, () => {
      options.among.delete(this);
      this.#isClosed = true;
      clearInterval(this.#heartbeat);
      if (hasLeft) onClose();
      else runInTurn(onClose);
    });
    if (this.#isClosed) return;
    response.writeHead(200, { "cache-control": "no-store", "x-accel-buffering": "no", ...headers });
    this.#heartbeat = setInterval(() => {
      if (!response.writableNeedDrain) response.write(options.heartbeat);
    }, options.heartbeatMs);
    // Some browsers deliver the response only with its first byte.
    response.write((options.first ?? "") + options.heartbeat);
  }

  /** Writes; resolves with true when more may be written, with false when the client has disconnected. */
  async write(text: string): Promise<boolean> {
    if (this.#isClosed || this.#response.writableEnded) return false;
    return this.#response.write(text) || this.#drained();
  }

  /** Ends the response after the data written so far. */
  end(text = ""): void {
    clearInterval(this.#heartbeat);
    if (this.#isClosed) return;
    limitUnreadEnd(this.#response, this.#options.stallMs);
    this.#response.end(text);
  }

  #drained(): Promise<boolean> {
    this.#drain ??= new Promise((resolve) => {
      const settle = (isOpen: boolean) => {
        this.#drain = undefined;
        clearTimeout(deadline);
        this.#response.off("drain", onDrain).off("close", onClose);
        resolve(isOpen);
      };
      const onDrain = () => settle(true);
      const onClose = () => settle(false);
      const deadline = setTimeout(() => resetConnection(this.#response), this.#options.stallMs);
      this.#response.once("drain", onDrain).once("close", onClose);
    });
    return this.#drain;
  }
}
