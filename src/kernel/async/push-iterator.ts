import { AppError } from "../errors.ts";
import { DONE, ReleasingIterator } from "./releasing-iterator.ts";

/** An async iterator that is fed by `push`. */
export class PushIterator<T> extends ReleasingIterator<T> {
  readonly #values: T[] = [];
  readonly #waiting: Array<{ resolve(result: IteratorResult<T>): void; reject(reason: unknown): void }> = [];
  readonly #onEnd: () => void;
  readonly #limit: number;
  #failure: { reason: unknown } | undefined;

  /** `onEnd` runs once, however the iterator ends. More than `limit` unread values end it with `unavailable`. */
  constructor(onEnd: () => void = () => {}, limit = 1_000) {
    super();
    this.#onEnd = onEnd;
    this.#limit = limit;
  }

  /** Passes a value to the reader, or buffers it. After the end it is dropped. */
  push(value: T): void {
    if (this.isEnded) return;
    const reader = this.#waiting.shift();
    if (reader) reader.resolve({ done: false, value });
    else if (this.#values.length < this.#limit) this.#values.push(value);
    else this.fail(new AppError("unavailable", `This reader fell more than ${this.#limit} events behind.`));
  }

  /** Ends the iteration after the values already pushed. */
  end(): void {
    this.finish();
  }

  /** Ends the iteration with an error, after the values already pushed. */
  fail(reason: unknown): void {
    if (this.isEnded) return;
    const reader = this.#waiting.shift();
    if (reader) reader.reject(reason);
    else this.#failure = { reason };
    this.finish();
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#values.length > 0) return Promise.resolve({ done: false, value: this.#values.shift() as T });
    if (this.#failure) {
      const { reason } = this.#failure;
      this.#failure = undefined;
      return Promise.reject(reason);
    }
    if (this.isEnded) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  override return(): Promise<IteratorResult<T>> {
    this.#values.length = 0;
    this.#failure = undefined;
    return super.return();
  }

  /** The number of values that were pushed and not read yet. */
  protected get unread(): number {
    return this.#values.length;
  }

  /** Whether a `next()` is pending. */
  protected get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  protected release(): void {
    for (const reader of this.#waiting.splice(0)) reader.resolve(DONE);
    this.#onEnd();
  }
}
