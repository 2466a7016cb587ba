import { AppError } from "../errors.ts";
import { DONE, ReleasingIterator } from "./releasing-iterator.ts";

/** How many bytes of unread values an iterator buffers. One value may be larger. */
export type BufferedBytes<T> = {
  readonly maxBytes: number;
  /** Called for values that nothing waits for. */
  readonly bytesOf: (value: T) => number;
};

/** An async iterator that is fed by `push`. */
export class PushIterator<T> extends ReleasingIterator<T> {
  readonly #values: T[] = [];
  /** The sizes of the values, if they are limited. */
  readonly #sizes: number[] = [];
  #bytes = 0;
  readonly #waiting: Array<{ resolve(result: IteratorResult<T>): void; reject(reason: unknown): void }> = [];
  readonly #onEnd: () => void;
  readonly #limit: number;
  readonly #buffered: BufferedBytes<T> | undefined;
  #failure: { reason: unknown } | undefined;

  /**
   * `onEnd` runs once, however the iterator ends. More than `limit` unread values, or more bytes of them than `buffered`
   * allows, end it with `unavailable`.
   */
  constructor(onEnd: () => void = () => {}, limit = 1_000, buffered?: BufferedBytes<T>) {
    super();
    this.#onEnd = onEnd;
    this.#limit = limit;
    this.#buffered = buffered;
  }

  /** Passes a value to the reader, or buffers it. After the end it is dropped. */
  push(value: T): void {
    if (this.isEnded) return;
    const reader = this.#waiting.shift();
    if (reader) reader.resolve({ done: false, value });
    else if (this.#values.length >= this.#limit) this.#fallBehind(`${this.#limit} events`);
    else if (this.#measure(value)) this.#values.push(value);
    else this.#fallBehind(`${this.#buffered?.maxBytes} bytes of events`);
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
    if (this.#values.length > 0) {
      this.#bytes -= this.#sizes.shift() ?? 0;
      return Promise.resolve({ done: false, value: this.#values.shift() as T });
    }
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
    this.#sizes.length = 0;
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

  /** Counts the bytes of a value that is to be buffered; false if there is no room for it. */
  #measure(value: T): boolean {
    if (!this.#buffered) return true;
    const { maxBytes, bytesOf } = this.#buffered;
    const bytes = bytesOf(value);
    if (this.#values.length > 0 && this.#bytes + bytes > maxBytes) return false;
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    return true;
  }

  #fallBehind(limit: string): void {
    this.fail(new AppError("unavailable", `This reader fell more than ${limit} behind.`));
  }

  protected release(): void {
    for (const reader of this.#waiting.splice(0)) reader.resolve(DONE);
    this.#onEnd();
  }
}
