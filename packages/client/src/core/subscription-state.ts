/**
 * The state of a subscription. `replaying`: connected again, and missed events arrive. `reconnecting`: events that
 * happen now arrive later. `ended`: by the server, by you, or with an error.
 */
export type SubscriptionState = "connecting" | "live" | "replaying" | "reconnecting" | "ended";

/** A value that others listen to. */
export class Observed<T> {
  readonly #listeners = new Set<(value: T) => void>();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (value === this.#value) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener(value);
  }

  /** Calls back at each change, until the returned function is called. */
  listen(listener: (value: T) => void): () => void {
    // A function may be given twice: each call has its own place.
    const own = (value: T) => listener(value);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
