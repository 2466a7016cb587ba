import type { RetryOptions } from "./backoff.ts";
import type { LiveEvent } from "./live-event.ts";
import type { SubscriptionState } from "./subscription-state.ts";

/** How a subscription begins, resumes and ends. */
export type SubscribeOptions = {
  /** The cursor to start after: of the last known event, or the `eventCursor` that was queried with the state. */
  readonly after?: string | null;
  /** Ends the subscription when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Go on with a gap where resuming is impossible (`blockAdded`), instead of ending with `EventsLost`. Never for
   * `completeChat`, which is billed each time that it is opened.
   */
  readonly allowGaps?: boolean;
  readonly retry?: RetryOptions;
  /**
   * How long a connection may stay silent before it is replaced, milliseconds. Default: 30,000; the server sends a
   * heartbeat every 12 s.
   */
  readonly silentMs?: number;
  /**
   * How many events wait for a slow reader before the connection is given up until it has caught up. Default: 1,000; 0
   * is the same as 1.
   */
  readonly maxWaiting?: number;
};

/**
 * The events of a subscription, each once and in order. It runs until `return()`, as `for await` calls it. (Before
 * TypeScript 5.6, `AsyncIterableIterator` has no parameter for what it returns.)
 */
export interface Subscription<T> {
  readonly state: SubscriptionState;
  /** The cursor after which another subscription would continue for this reader: null until there is one. */
  readonly cursor: string | null;
  /** Why it ended, if with an error: a `ZerographError`, or what your own `credential` function threw. */
  readonly error: Error | undefined;
  /** Calls back at each change of the state, until the returned function is called. */
  onState(listener: (state: SubscriptionState) => void): () => void;
  /** Connects again now, with the present credential; nothing is missed. */
  reconnect(): void;
  /** The next event, or the end. */
  next(): Promise<IteratorResult<LiveEvent<T>, undefined>>;
  /** Ends it at once. */
  return(): Promise<IteratorResult<LiveEvent<T>, undefined>>;
  [Symbol.asyncIterator](): this;
}
