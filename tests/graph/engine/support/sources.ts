import { PushIterator } from "../../../../src/kernel/async/push-iterator.ts";

/** A source into which a test pushes events, whoever the subscriber is. */
export class Source<T> {
  readonly #readers = new Set<PushIterator<T>>();

  /** The number of open subscriptions. */
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
