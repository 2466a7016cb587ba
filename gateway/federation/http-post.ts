import type { Dispatcher } from "undici";
import type { PeerHealth } from "./peer-health.ts";

/** One POST of JSON text. */
export type HttpPost = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** From the call to the last byte of the response. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Ends the request early if the peer does not answer at all; without it, only the time counts. */
  readonly health?: PeerHealth | undefined;
};

/** The response, whatever its status. */
export type HttpAnswer = { readonly status: number; readonly text: string };

/**
 * Posts and reads the response. Rejects when it is late or too large, when the connection fails, when the signal aborts
 * and when the peer is no longer alive. `dispatch` is the cheapest API of undici: it creates no stream for the body.
 */
export function httpPost(dispatcher: Dispatcher, post: HttpPost): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(post, { resolve, reject });
    const { path, headers, body } = post;
    dispatcher.dispatch({ method: "POST", path, headers, body }, exchange);
  });
}

type Settle = { resolve(answer: HttpAnswer): void; reject(reason: unknown): void };

class Exchange implements Dispatcher.DispatchHandler {
  readonly #post: HttpPost;
  readonly #settle: Settle;
  readonly #timer: NodeJS.Timeout;
  #healthTimer: NodeJS.Timeout | undefined;
  /** When the peer was last known to be alive. */
  #heardAt = performance.now();
  #isOver = false;
  readonly #onAbort = () => this.#fail(asError(this.#post.signal?.reason));
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #status = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #failure: Error | undefined;

  constructor(post: HttpPost, settle: Settle) {
    this.#post = post;
    this.#settle = settle;
    const late = () => this.#fail(new Error(`no response within ${post.timeoutMs} ms`));
    this.#timer = setTimeout(late, post.timeoutMs);
    this.#probeLater(post.health);
    if (post.signal?.aborted) this.#onAbort();
    else post.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(this.#failure);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes <= this.#post.maxBytes) this.#chunks.push(chunk);
    else this.#fail(new Error(`the response is larger than ${this.#post.maxBytes} bytes`));
  }

  onResponseEnd(): void {
    this.#release();
    this.#settle.resolve({ status: this.#status, text: Buffer.concat(this.#chunks).toString("utf8") });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#release();
    this.#settle.reject(error);
  }

  /** Probes whether the peer is alive when half of the time has passed in which it must show that. */
  #probeLater(health: PeerHealth | undefined, waitMs = (health?.silentMs ?? 0) / 2): void {
    if (health) this.#healthTimer = setTimeout(() => void this.#probe(health), waitMs);
  }

  async #probe(health: PeerHealth): Promise<void> {
    const isAlive = await health.isAlive();
    if (this.#isOver) return;
    if (isAlive) this.#heardAt = performance.now();
    // A process that is being replaced refuses connections, and still answers the requests that it has.
    const leftMs = Math.ceil(this.#heardAt + health.silentMs - performance.now());
    if (leftMs <= 0) this.#fail(new Error(`the process was silent for ${health.silentMs} ms`));
    else this.#probeLater(health, Math.min(leftMs, health.silentMs / 2));
  }

  /** Rejects at once: a request that still waits for a connection is aborted when it gets one. */
  #fail(reason: Error): void {
    this.#failure = reason;
    this.#release();
    this.#settle.reject(reason);
    this.#controller?.abort(reason);
  }

  #release(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#healthTimer);
    this.#post.signal?.removeEventListener("abort", this.#onAbort);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("the request was aborted");
}
