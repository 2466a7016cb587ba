import { TransientMap } from "../transient-map.ts";

/** Work that runs now, which its owner waits for before it ends. */
export class InProgress {
  readonly #promises = new TransientMap<number, Promise<unknown>>();
  #added = 0;

  /** How much runs now. */
  get size(): number {
    return this.#promises.size;
  }

  /** Adds work until it settles. Resolves and rejects as the work does. */
  add<T>(work: Promise<T>): Promise<T> {
    const number = this.#added++;
    const done = work.finally(() => this.#promises.delete(number));
    this.#promises.set(number, done);
    return done;
  }

  /** Waits until the work that runs now has settled, whether or not it succeeds. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#promises.values());
  }
}
