import type { GraphError } from "../core/errors.ts";
import type { LiveEvent } from "../core/live-event.ts";
import type { Subscription } from "../core/subscribe-options.ts";
import type { SubscriptionState } from "../core/subscription-state.ts";

/** What a component sees of a subscription. */
export type LiveSnapshot<T> = {
  /** The newest events, oldest first, each once. */
  readonly events: readonly T[];
  readonly latest: T | undefined;
  /** Why fields of the latest event are null that the server could not, or would not, read. */
  readonly errors: readonly GraphError[];
  /** `idle` without a document. */
  readonly state: SubscriptionState | "idle";
  /** Why the subscription ended: `EventsLost`, `OperationRefused`, `ConnectionLost`, or what your own `credential` function threw. */
  readonly error: Error | undefined;
};

type Options<T> = {
  /** Opens the subscription after a cursor; undefined for none. */
  readonly open: ((after: string | null) => Subscription<T>) | undefined;
  readonly after: string | null;
  /** How many events are kept. */
  readonly keep: number;
  readonly onEvent: (event: LiveEvent<T>) => void;
};

/**
 * The events of a subscription as a store that React reads. It subscribes while a component is mounted, and continues
 * after its last event when one is mounted again, as React's strict mode and hidden trees do.
 */
export class LiveStore<T> {
  readonly #options: Options<T>;
  readonly #listeners = new Set<() => void>();
  readonly #fresh: LiveEvent<T>[] = [];
  #cursor: string | null;
  #subscription: Subscription<T> | undefined;
  /** Whether the subscription has connected, after which it may deliver events. */
  #isOpened = false;
  #snapshot: LiveSnapshot<T>;
  #flush: ReturnType<typeof setTimeout> | undefined;

  constructor(options: Options<T>) {
    this.#options = options;
    this.#cursor = options.after;
    const state = options.open ? "connecting" : "idle";
    this.#snapshot = { events: [], latest: undefined, errors: [], state, error: undefined };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    this.#listeners.add(own);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.#stop();
    };
  };

  readonly read = (): LiveSnapshot<T> => this.#snapshot;

  /** Subscribes again after a cursor, or from now on: after an error, when the state was queried again. */
  readonly restart = (after: string | null = null): void => {
    this.#stop();
    this.#cursor = after;
    this.#set({ state: this.#options.open ? "connecting" : "idle", error: undefined });
    if (this.#listeners.size > 0) this.#start();
  };

  #start(): void {
    const subscription = this.#options.open?.(this.#cursor);
    if (!subscription) return;
    this.#subscription = subscription;
    this.#isOpened = false;
    this.#set({ state: subscription.state, error: undefined });
    subscription.onState((state) => {
      if (this.#subscription !== subscription || state === "ended") return;
      if (!this.#isOpened && state !== "connecting") {
        this.#isOpened = true;
        this.#cursor = subscription.cursor;
      }
      this.#set({ state });
    });
    void this.#take(subscription);
  }

  async #take(subscription: Subscription<T>): Promise<void> {
    let error: Error | undefined;
    try {
      for await (const event of subscription) {
        if (this.#subscription !== subscription) return;
        this.#cursor = subscription.cursor;
        this.#add(event);
      }
    } catch (reason) {
      error = reason as Error;
    }
    if (this.#subscription === subscription) this.#set({ state: "ended", error });
  }

  #add(event: LiveEvent<T>): void {
    this.#fresh.push(event);
    // A replay of many events is rendered once.
    this.#flush ??= setTimeout(() => this.#set({}));
    try {
      this.#options.onEvent(event);
    } catch (error) {
      // A bug of the component is reported as one, and does not end the subscription.
      setTimeout(() => {
        throw error;
      });
    }
  }

  #set(change: Partial<LiveSnapshot<T>>): void {
    clearTimeout(this.#flush);
    this.#flush = undefined;
    const fresh = this.#fresh.splice(0);
    const old = this.#snapshot.events;
    const events = fresh.length === 0 ? old : [...old, ...fresh.map(({ data }) => data)];
    const surplus = events.length - this.#options.keep;
    const kept = surplus > 0 ? events.slice(surplus) : events;
    const last = fresh.at(-1);
    const newest = last && { latest: last.data, errors: last.errors ?? [] };
    this.#snapshot = { ...this.#snapshot, events: kept, ...newest, ...change };
    for (const listener of [...this.#listeners]) listener();
  }

  #stop(): void {
    const subscription = this.#subscription;
    this.#subscription = undefined;
    if (!subscription) return;
    // Once it has connected, its cursor may be that of an event that was taken but not delivered: that event is read again.
    if (!this.#isOpened) this.#cursor = subscription.cursor;
    void subscription.return();
  }
}
