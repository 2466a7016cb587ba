import type { GraphQLError } from "graphql";
import { DONE, ReleasingIterator } from "../../../src/kernel/async/releasing-iterator.ts";
import type { AppError } from "../../../src/kernel/errors.ts";
import { toGraphFailure } from "../failures.ts";
import type { RoutedOperations } from "../routed-operations.ts";

/** The failure of a subscription's source, as its last event: resolving it throws the failure. */
export class SubscriptionError {
  readonly failure: GraphQLError;

  constructor(reason: unknown) {
    this.failure = toGraphFailure(reason);
  }
}

/**
 * A socket of a third-party router. Such routers forward events with their errors, and hide everything else that a
 * socket reports about a failure. So every subscription here ends with an event that carries the reason, also when
 * the credential was invalid from the start or is revoked.
 */
export class RoutedSocket {
  readonly #listeners = new Set<(reason: AppError) => void>();
  readonly #operations: RoutedOperations | undefined;
  #refusal: AppError | undefined;

  /** `refusal` answers every operation when the credential is invalid; `operations` counts the subscriptions. */
  constructor(refusal?: AppError, operations?: RoutedOperations) {
    this.#refusal = refusal;
    this.#operations = operations;
  }

  /** Why this source has ended, if it has. */
  get refusal(): AppError | undefined {
    return this.#refusal;
  }

  /** Ends all subscriptions, and refuses later ones. */
  end(reason: AppError): void {
    this.#refusal ??= reason;
    for (const listener of [...this.#listeners]) listener(this.#refusal);
  }

  /** Opens a source whose failures are events. Nothing is opened when the socket is refused. */
  follow(open: () => Promise<unknown>): AsyncIterableIterator<unknown> {
    const refusal = this.#refusal;
    const opening = refusal ? Promise.reject(refusal) : this.#count(open);
    const source = new ErrorAsEventSource(opening as Promise<AsyncIterator<unknown>>, () =>
      this.#listeners.delete(listener),
    );
    const listener = (reason: AppError) => source.end(reason);
    this.#listeners.add(listener);
    return source;
  }

  async #count(open: () => Promise<unknown>): Promise<unknown> {
    await this.#operations?.take(1);
    const source = await open();
    this.#operations?.recordUse();
    return source;
  }
}

class ErrorAsEventSource extends ReleasingIterator<unknown> {
  readonly #opening: Promise<AsyncIterator<unknown>>;
  readonly #onEnd: () => void;
  #endReason: AppError | undefined;

  constructor(opening: Promise<AsyncIterator<unknown>>, onEnd: () => void) {
    super();
    this.#opening = opening;
    this.#onEnd = onEnd;
    // `next` reports the rejection, but may not have been called yet.
    opening.catch(() => {});
  }

  async next(): Promise<IteratorResult<unknown>> {
    if (this.isEnded) return DONE;
    try {
      const source = await this.#opening;
      const result = this.#endReason ? DONE : await source.next();
      if (this.#endReason) throw this.#endReason;
      if (result.done) this.finish();
      return result;
    } catch (reason) {
      if (!this.finish()) return DONE;
      return { done: false, value: new SubscriptionError(reason) };
    }
  }

  end(reason: AppError): void {
    this.#endReason = reason;
    this.#leave();
  }

  protected release(): void {
    this.#onEnd();
    this.#leave();
  }

  #leave(): void {
    this.#opening.then(
      (source) => source.return?.(),
      () => {},
    );
  }
}
