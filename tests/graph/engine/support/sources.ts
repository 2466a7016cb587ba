import { PushIterator } from "../../../../src/kernel/async/push-iterator.ts";

/** Where a test pushes events, whoever subscribed to them. */
export class Source<T> {
  readonly #readers = new Set<PushIterator<T>>();

  /** How many subscriptions are open now. */
  get open(): number {
    return this.#readers.size;
  }

  subscribe(): PushIterator<T> {
    const reader: PushIterator<T> = new PushIterator(() => this.#readers.delete(reader));
    this.#readers.add(reader);
    return reader;
  }

  push(value: T): void {
    for (const reader of this.#readers) reader.push(value);
  }

  end(): void {
    for (const reader of this.#readers) reader.end();
  }

  fail(reason: unknown): void {
    for (const reader of this.#readers) reader.fail(reason);
  }
}
