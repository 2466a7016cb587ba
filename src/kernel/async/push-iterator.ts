import { AppError } from "../errors.ts";

/**
 * An async iterator that is fed by `push` and ends at once on `return()`, even while a `next()` is pending. An
 * `async function*` would not: it stays in its `await` until the next value, and keeps its source open until then.
 */
export class PushIterator<T> implements AsyncIterableIterator<T> {
  readonly #values: T[] = [];
  readonly #waiting: Array<{ resolve(result: IteratorResult<T>): void; reject(reason: unknown): void }> = [];
  readonly #onEnd: () => void;
  readonly #limit: number;
  #failure: { reason: unknown } | undefined;
  #ended = false;

  /** `onEnd` runs once, however the iterator ends. More than `limit` unread values end it with `unavailable`. */
  constructor(onEnd: () => void = () => {}, limit = 1_000) {
    this.#onEnd = onEnd;
    this.#limit = limit;
  }

  /** Passes a value to the reader, or buffers it. After the end it is dropped. */
  push(value: T): void {
    if (this.#ended) return;
    const reader = this.#waiting.shift();
    if (reader) reader.resolve({ done: false, value });
    else if (this.#values.length < this.#limit) this.#values.push(value);
    else this.fail(new AppError("unavailable", `This reader fell more than ${this.#limit} events behind.`));
  }

  /** Ends the iteration after the values already pushed. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const reader of this.#waiting.splice(0)) reader.resolve({ done: true, value: undefined });
    this.#onEnd();
  }

  /** Ends the iteration with an error, after the values already pushed. */
  fail(reason: unknown): void {
    if (this.#ended) return;
    const reader = this.#waiting.shift();
    if (reader) reader.reject(reason);
    else this.#failure = { reason };
    this.end();
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#values.length > 0) return Promise.resolve({ done: false, value: this.#values.shift() as T });
    if (this.#failure) {
      const { reason } = this.#failure;
      this.#failure = undefined;
      return Promise.reject(reason);
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<T>> {
    this.#values.length = 0;
    this.#failure = undefined;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  throw(reason?: unknown): Promise<IteratorResult<T>> {
    void this.return();
    return Promise.reject(reason);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
