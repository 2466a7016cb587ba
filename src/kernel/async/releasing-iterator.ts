/** The result of `next()` after the end. */
export const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * An async iterator that releases what it holds as soon as `return()` is called, even while a `next()` is pending. An
 * `async function*` would not: it stays in its `await` until the next value, and keeps its source open until then.
 */
export abstract class ReleasingIterator<T> implements AsyncIterableIterator<T> {
  #isEnded = false;

  abstract next(): Promise<IteratorResult<T>>;

  /** Releases what the iterator holds, and settles what waits for it. Runs once, however the iteration ends. */
  protected abstract release(): void;

  protected get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Ends the iteration and releases; false when it had already ended. */
  protected finish(): boolean {
    if (this.#isEnded) return false;
    this.#isEnded = true;
    this.release();
    return true;
  }

  return(): Promise<IteratorResult<T>> {
    this.finish();
    return Promise.resolve(DONE);
  }

  /** Some consumers, such as graphql-sse, only close iterators that have this method. */
  throw(reason?: unknown): Promise<IteratorResult<T>> {
    void this.return();
    return Promise.reject(reason);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Ends a source that has no reader any more; a failure to close it is dropped. */
export function closeSource(source: Pick<AsyncIterator<unknown>, "return"> | undefined): void {
  void Promise.resolve(source?.return?.()).catch(() => {});
}
