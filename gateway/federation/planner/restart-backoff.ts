/** When to restart a process that keeps dying. Times in milliseconds. */
export type BackoffOptions = {
  /** The delay before the second restart in a row; it doubles with each. The first restart is immediate. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A process that lived this long resets the backoff. */
  readonly stableMs: number;
};

/** The delay before each restart. */
export class RestartBackoff {
  readonly #options: BackoffOptions;
  #inRow = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The delay before the next start, after a process that lived `livedMs`. */
  next(livedMs: number): number {
    const { firstMs, maxMs, stableMs } = this.#options;
    if (livedMs >= stableMs) this.#inRow = 0;
    const waitMs = this.#inRow === 0 ? 0 : firstMs * 2 ** (this.#inRow - 1);
    if (waitMs < maxMs) this.#inRow += 1;
    return Math.min(waitMs, maxMs);
  }
}
