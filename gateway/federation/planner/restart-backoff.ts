/** When a process that keeps dying is started again. Times in milliseconds. */
export type BackoffOptions = {
  /** The wait before the second restart in a row; it doubles with each. The first comes at once. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A process that lived as long begins a new row. */
  readonly stableMs: number;
};

/** How long to wait before each restart. */
export class RestartBackoff {
  readonly #options: BackoffOptions;
  #inRow = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The wait before the next start, after a process that lived so long. */
  next(livedMs: number): number {
    const { firstMs, maxMs, stableMs } = this.#options;
    if (livedMs >= stableMs) this.#inRow = 0;
    const waitMs = this.#inRow === 0 ? 0 : firstMs * 2 ** (this.#inRow - 1);
    if (waitMs < maxMs) this.#inRow += 1;
    return Math.min(waitMs, maxMs);
  }
}
