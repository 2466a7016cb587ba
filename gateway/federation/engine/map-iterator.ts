import type { MaybePromise } from "./subgraph-executor.ts";

/** The transformation of an iterator's values. */
export type Mapping<A, B> = {
  map(value: A): MaybePromise<B>;
  /** The error thrown to the reader in place of the source's error. */
  mapError(reason: unknown): unknown;
  /** Runs once, however the iteration ends. */
  onEnd(): void;
};

type Waiting<T> = { resolve(result: IteratorResult<T>): void };

/** Maps the values of an iterator. `return()` ends it and its source at once, even while a value is pending. */
export class MapIterator<A, B> implements AsyncIterableIterator<B> {
  readonly #source: AsyncIterator<A>;
  readonly #mapping: Mapping<A, B>;
  readonly #waiting = new Set<Waiting<B>>();
  #ended = false;

  constructor(source: AsyncIterator<A>, mapping: Mapping<A, B>) {
    this.#source = source;
    this.#mapping = mapping;
  }

  next(): Promise<IteratorResult<B>> {
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      const waiting = { resolve };
      this.#waiting.add(waiting);
      this.#pull()
        .then(resolve, (reason) => {
          reject(reason);
          this.#end();
        })
        .finally(() => this.#waiting.delete(waiting));
    });
  }

  return(): Promise<IteratorResult<B>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  throw(reason?: unknown): Promise<IteratorResult<B>> {
    this.#end();
    return Promise.reject(reason);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #pull(): Promise<IteratorResult<B>> {
    const pulled = await this.#source.next().catch((reason: unknown) => {
      throw this.#mapping.mapError(reason);
    });
    if (!pulled.done) return { done: false, value: await this.#mapping.map(pulled.value) };
    this.#finish();
    return { done: true, value: undefined };
  }

  #end(): void {
    if (!this.#finish()) return;
    for (const waiting of this.#waiting) waiting.resolve({ done: true, value: undefined });
    this.#waiting.clear();
    this.#source.return?.().catch(() => {});
  }

  /** False when it had already ended. */
  #finish(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#mapping.onEnd();
    return true;
  }
}
