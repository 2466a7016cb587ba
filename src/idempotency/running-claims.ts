/** The requests of this process that have an idempotency key, while they run. */
export class RunningClaims {
  readonly #requests = new Set<string>();

  get size(): number {
    return this.#requests.size;
  }

  add(requestId: string): void {
    this.#requests.add(requestId);
  }

  end(requestId: string): void {
    this.#requests.delete(requestId);
  }

  has(requestId: string): boolean {
    return this.#requests.has(requestId);
  }
}
