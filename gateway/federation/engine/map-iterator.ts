import { DONE, ReleasingIterator } from "../../../src/kernel/async/releasing-iterator.ts";
import type { MaybePromise } from "./subgraph-executor.ts";

/** The transformation of an iterator's values. */
export type Mapping<A, B> = {
  map(value: A): MaybePromise<B>;
  /** The error thrown to the reader in place of the source's error. */
  mapError(reason: unknown): unknown;
  /** Runs once, however the iteration ends. */
  onEnd(): void;
};

/** Maps the values of an iterator. `return()` ends its source and every pending `next()`. */
export class MapIterator<A, B> extends ReleasingIterator<B> {
  readonly #source: AsyncIterator<A>;
  readonly #mapping: Mapping<A, B>;
  readonly #pending = new Set<(result: IteratorResult<B>) => void>();

  constructor(source: AsyncIterator<A>, mapping: Mapping<A, B>) {
    super();
    this.#source = source;
    this.#mapping = mapping;
  }

  next(): Promise<IteratorResult<B>> {
    if (this.isEnded) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#pending.add(resolve);
      this.#pull()
        .then(resolve, (reason) => {
          reject(reason);
          void this.return();
        })
        .finally(() => this.#pending.delete(resolve));
    });
  }

  override return(): Promise<IteratorResult<B>> {
    if (this.finish()) {
      for (const resolve of this.#pending) resolve(DONE);
      this.#pending.clear();
      this.#source.return?.().catch(() => {});
    }
    return Promise.resolve(DONE);
  }

  protected release(): void {
    this.#mapping.onEnd();
  }

  async #pull(): Promise<IteratorResult<B>> {
    const pulled = await this.#source.next().catch((reason: unknown) => {
      throw this.#mapping.mapError(reason);
    });
    if (!pulled.done) return { done: false, value: await this.#mapping.map(pulled.value) };
    // Values pulled before the end may still be being mapped: their `next()` stays pending.
    this.finish();
    return DONE;
  }
}
