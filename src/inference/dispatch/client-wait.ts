/** Measures how long the provider of a stream had to wait for the client. */
export class ClientWait {
  #endedMs = 0;
  #sinceMs: number | undefined;
  #hasBegun = false;

  /** Whether it had to wait at all. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** How long it had to wait so far. */
  get ms(): number {
    return this.#endedMs + (this.#sinceMs === undefined ? 0 : performance.now() - this.#sinceMs);
  }

  begin(): void {
    this.#hasBegun = true;
    this.#sinceMs ??= performance.now();
  }

  end(): void {
    this.#endedMs = this.ms;
    this.#sinceMs = undefined;
  }
}
