const DONE = { done: true, value: undefined } as const;

type Reader<T> = { resolve(result: IteratorResult<T, undefined>): void; reject(reason: unknown): void };

/**
 * An async iterator that is fed by `push`. `return()` ends it at once, also while a `next()` waits: a generator would
 * end with the next value only.
 */
export class PushIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #values: T[] = [];
  readonly #readers: Reader<T>[] = [];
  readonly #onTaken: (value: T) => void;
  readonly #onReturn: () => void;
  #failure: { readonly reason: unknown } | undefined;
  #isEnded = false;

  /** `onTaken` runs when a reader takes a value, `onReturn` once, when the reader leaves. */
  constructor({ onTaken, onReturn }: { onTaken(value: T): void; onReturn(): void }) {
    this.#onTaken = onTaken;
    this.#onReturn = onReturn;
  }

  /** How many values wait for a reader. */
  get waiting(): number {
    return this.#values.length;
  }

  /** Passes a value to the reader, or keeps it. After the end it is dropped. */
  push(value: T): void {
    if (this.#isEnded) return;
    const reader = this.#readers.shift();
    if (reader) {
      this.#onTaken(value);
      reader.resolve({ done: false, value });
    } else this.#values.push(value);
  }

  /** Ends after the values pushed so far, with an error if a reason is given. */
  end(failure?: { readonly reason: unknown }): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const [first, ...others] = this.#readers.splice(0);
    if (first && failure) first.reject(failure.reason);
    else if (first) first.resolve(DONE);
    else this.#failure = failure;
    for (const reader of others) reader.resolve(DONE);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#values.length > 0) {
      const value = this.#values.shift() as T;
      this.#onTaken(value);
      return Promise.resolve({ done: false, value });
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) return Promise.reject(failure.reason);
    if (this.#isEnded) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#values.length = 0;
    this.#failure = undefined;
    const isFirst = !this.#isEnded;
    this.end();
    if (isFirst) this.#onReturn();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
