/** Limits on the rate of messages. */
type ThrottleOptions = {
  /** Messages handled without delay; refilled at `perSecond`. */
  readonly burst: number;
  readonly perSecond: number;
  /** Limits on waiting messages and their bytes. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
};

type Waiting = { readonly run: () => void; readonly sizeBytes: number };

const SECOND_MS = 1_000;

/**
 * Spreads messages over time, in order (a token bucket with a queue): a burst is handled at once, messages above the
 * rate wait, and only a full queue counts as a flood.
 */
export class MessageThrottle {
  readonly #options: ThrottleOptions;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #tokens: number;
  #filledAtMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    this.#tokens = options.burst;
  }

  /** Handles a message now or in its turn. Returns false, without handling it, when the queue is full. */
  add(sizeBytes: number, run: () => void): boolean {
    if (this.#isOver) return true;
    this.#fill();
    if (this.#waiting.length === 0 && this.#tokens >= 1) {
      this.#tokens -= 1;
      run();
      return true;
    }
    const { maxWaiting, maxWaitingBytes } = this.#options;
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + sizeBytes > maxWaitingBytes) return false;
    this.#waiting.push({ run, sizeBytes });
    this.#waitingBytes += sizeBytes;
    this.#schedule();
    return true;
  }

  /** Drops the queue: the client has disconnected. */
  stop(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    clearTimeout(this.#timer);
  }

  #fill(): void {
    const nowMs = performance.now();
    const { burst, perSecond } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) * perSecond) / SECOND_MS);
    this.#filledAtMs = nowMs;
  }

  #schedule(): void {
    const waitMs = ((1 - this.#tokens) * SECOND_MS) / this.#options.perSecond;
    this.#timer ??= setTimeout(() => this.#drain(), Math.max(1, waitMs));
  }

  #drain(): void {
    this.#timer = undefined;
    this.#fill();
    while (this.#tokens >= 1) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#tokens -= 1;
      this.#waitingBytes -= next.sizeBytes;
      next.run();
    }
    if (this.#waiting.length > 0) this.#schedule();
  }
}
