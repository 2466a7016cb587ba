/** Runs work that has the same key one after the other; work of different keys runs at the same time. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves and rejects as the work does. Work that is run from within work of the same key would wait for ever. */
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
