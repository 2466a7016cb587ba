/** How long the work of one `TurnTime` may occupy one turn of the event loop, milliseconds; the last piece may exceed it. */
const TURN_MS = 8;

/**
 * Shares the time of the event loop's turns among many short pieces of synchronous work that may become due in the same
 * moment, such as what is left to do for each stream of a connection that broke.
 */
export class TurnTime {
  readonly #waiting: (() => void)[] = [];
  #spentMs = 0;
  #isScheduled = false;

  /**
   * Runs `work` at once while this turn has time left and nothing waits; otherwise in one of the next turns, in order.
   * Throws or rejects with what `work` throws.
   */
  run<T>(work: () => T): T | Promise<T> {
    if (!this.#isScheduled) this.#schedule();
    if (this.#waiting.length === 0 && this.#spentMs < TURN_MS) return this.#measure(work);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(this.#measure(work));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #measure<T>(work: () => T): T {
    const startedMs = performance.now();
    try {
      return work();
    } finally {
      this.#spentMs += performance.now() - startedMs;
    }
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#spentMs = 0;
      while (this.#spentMs < TURN_MS) {
        const next = this.#waiting.shift();
        if (!next) break;
        next();
      }
      if (this.#waiting.length > 0 || this.#spentMs > 0) this.#schedule();
    });
  }
}
