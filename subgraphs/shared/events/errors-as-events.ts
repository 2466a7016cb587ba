import type { GraphQLError } from "graphql";
import type { AppError } from "../../../src/kernel/errors.ts";
import { toGraphFailure } from "../failures.ts";
import type { RoutedOperations } from "../routed-operations.ts";

/** What a subscription's source failed of, as its last event: to resolve it is to throw it. */
export class SubscriptionError {
  readonly failure: GraphQLError;

  constructor(reason: unknown) {
    this.failure = toGraphFailure(reason);
  }
}

/**
 * A socket of a router that is not ours. Such routers hand on events with their errors, and hide all else that a socket
 * says of a failure. So whatever is followed here ends with an event that tells why, also when the credential was no
 * good from the start, or ends.
 */
export class RoutedSocket {
  readonly #listeners = new Set<(why: AppError) => void>();
  readonly #operations: RoutedOperations | undefined;
  #refusal: AppError | undefined;

  /** `refusal` is what is told whoever asks, when the credential is no good; `operations` counts what is followed. */
  constructor(refusal?: AppError, operations?: RoutedOperations) {
    this.#refusal = refusal;
    this.#operations = operations;
  }

  /** Why this source has ended, if it has. */
  get refusal(): AppError | undefined {
    return this.#refusal;
  }

  /** Ends all that is followed, and refuses what comes after. */
  end(why: AppError): void {
    this.#refusal ??= why;
    for (const listener of [...this.#listeners]) listener(this.#refusal);
  }

  /** Opens a source whose failures are events. Nothing is opened for who is refused. */
  follow(open: () => Promise<unknown>): AsyncIterableIterator<unknown> {
    const refusal = this.#refusal;
    const opening = refusal ? Promise.reject(refusal) : this.#count(open);
    const source = new ToldSource(opening as Promise<AsyncIterator<unknown>>, () =>
      this.#listeners.delete(listener),
    );
    const listener = (why: AppError) => source.end(why);
    this.#listeners.add(listener);
    return source;
  }

  async #count(open: () => Promise<unknown>): Promise<unknown> {
    await this.#operations?.take(1);
    const source = await open();
    this.#operations?.noteUse();
    return source;
  }
}

const DONE: IteratorResult<unknown> = { done: true, value: undefined };

class ToldSource implements AsyncIterableIterator<unknown> {
  readonly #opening: Promise<AsyncIterator<unknown>>;
  readonly #onEnd: () => void;
  #why: AppError | undefined;
  #isOver = false;

  constructor(opening: Promise<AsyncIterator<unknown>>, onEnd: () => void) {
    this.#opening = opening;
    this.#onEnd = onEnd;
    // It is told by `next`, which may not have been called yet.
    opening.catch(() => {});
  }

  async next(): Promise<IteratorResult<unknown>> {
    if (this.#isOver) return DONE;
    try {
      const source = await this.#opening;
      const result = this.#why ? DONE : await source.next();
      if (this.#why) throw this.#why;
      if (result.done) this.#finish();
      return result;
    } catch (reason) {
      if (this.#isOver) return DONE;
      this.#finish();
      return { done: false, value: new SubscriptionError(reason) };
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#finish();
    this.#leave();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  end(why: AppError): void {
    this.#why = why;
    this.#leave();
  }

  #leave(): void {
    this.#opening.then(
      (source) => source.return?.(),
      () => {},
    );
  }

  #finish(): void {
    this.#isOver = true;
    this.#onEnd();
  }
}
