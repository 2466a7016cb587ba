import type { ServerResponse } from "node:http";

/** How a connection that streams is kept and given up. */
export type StreamingResponseOptions = {
  /** How long what was written may stay unread. */
  readonly stallMs: number;
  /** What is written how often, so that a quiet connection is seen to live. */
  readonly heartbeat: string;
  readonly heartbeatMs: number;
  /** What stands before the first heartbeat. */
  readonly first?: string;
};

/**
 * A response that is written piece by piece. Who writes waits until the client reads, so that nothing piles up here; a
 * client that reads nothing for `stallMs` is given up.
 */
export class StreamingResponse {
  readonly #response: ServerResponse;
  readonly #options: StreamingResponseOptions;
  readonly #pulse: NodeJS.Timeout;
  #isClosed = false;

  /** Begins the response, which is one of `among` until it ends. `onClose` runs once, however it ends. */
  constructor(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    options: StreamingResponseOptions & { readonly among: Set<StreamingResponse> },
    onClose: () => void,
  ) {
    this.#response = response;
    this.#options = options;
    options.among.add(this);
    response.once("close", () => {
      options.among.delete(this);
      this.#isClosed = true;
      clearInterval(this.#pulse);
      onClose();
    });
    response.writeHead(200, { "cache-control": "no-store", "x-accel-buffering": "no", ...headers });
    this.#pulse = setInterval(() => {
      if (!response.writableNeedDrain) response.write(options.heartbeat);
    }, options.heartbeatMs);
    // Some browsers hand out the response with its first byte only.
    response.write((options.first ?? "") + options.heartbeat);
  }

  /** Writes, and resolves when more may be written; with false when the client has left. */
  async write(text: string): Promise<boolean> {
    if (this.#isClosed || this.#response.writableEnded) return false;
    return this.#response.write(text) || this.#drained();
  }

  /** Ends the response behind what was written. */
  end(text = ""): void {
    clearInterval(this.#pulse);
    if (!this.#isClosed) this.#response.end(text);
  }

  #drained(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isOpen: boolean) => {
        clearTimeout(deadline);
        this.#response.off("drain", onDrain).off("close", onClose);
        resolve(isOpen);
      };
      const onDrain = () => settle(true);
      const onClose = () => settle(false);
      const deadline = setTimeout(() => this.#response.destroy(), this.#options.stallMs);
      this.#response.once("drain", onDrain).once("close", onClose);
    });
  }
}
