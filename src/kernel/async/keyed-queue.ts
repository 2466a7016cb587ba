import { TransientMap } from "../transient-map.ts";

/** Runs work with the same key sequentially; work with different keys runs concurrently. */
export class KeyedQueue {
  readonly #last = new TransientMap<string, Promise<unknown>>();

  /** Resolves and rejects as the work does. Work run from within work of the same key would deadlock. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const running = before ? before.then(work, work) : work();
    this.#last.set(key, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key);
    }
  }
}
