import { pauseMs, RETRY_DEFAULTS, wake } from "../core/backoff.ts";
import type { Subscription } from "../core/subscribe-options.ts";
import type { SubscriptionState } from "../core/subscription-state.ts";

/** A state that is queried once and then followed. */
export type StateSnapshot<State> = {
  /** Undefined until it is loaded. */
  readonly value: State | undefined;
  readonly state: SubscriptionState;
  readonly error: Error | undefined;
};

type Source<State, Event> = {
  /** Queries the state, and the cursor after which its changes follow; null if there is nothing to follow. */
  readonly load: (signal: AbortSignal) => Promise<{ readonly value: State; readonly cursor: string | null }>;
  readonly follow: (after: string, signal: AbortSignal) => Subscription<Event>;
  readonly reduce: (value: State, event: Event) => State;
};

/**
 * A state of the server as a store that React reads: queried, then kept up to date by events. When events were lost or
 * the server could not be reached, it is queried again. It works while a component is mounted.
 */
export class StateStore<State, Event> {
  readonly #source: Source<State, Event>;
  readonly #listeners = new Set<() => void>();
  #snapshot: StateSnapshot<State> = { value: undefined, state: "connecting", error: undefined };
  #stopped = new AbortController();

  constructor(source: Source<State, Event>) {
    this.#source = source;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    this.#listeners.add(own);
    if (this.#listeners.size === 1) {
      this.#stopped = new AbortController();
      const { value, state, error } = this.#snapshot;
      const loading = value === undefined ? "connecting" : "reconnecting";
      // What ended an earlier mount is over: the state is loaded again.
      if (state !== loading || error) this.#set({ state: loading, error: undefined });
      void this.#run(this.#stopped.signal);
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.#stopped.abort();
    };
  };

  readonly read = (): StateSnapshot<State> => this.#snapshot;

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++)
      try {
        const { value, cursor } = await this.#source.load(signal);
        if (signal.aborted) return;
        this.#set({ value, error: undefined });
        if (cursor !== null) await this.#follow(value, cursor, signal);
        if (!signal.aborted) this.#set({ state: "ended" });
        return;
      } catch (reason) {
        if (signal.aborted) return;
        const error = reason as Error;
        if (error.name !== "EventsLost" && error.name !== "ConnectionLost") {
          this.#set({ state: "ended", error });
          return;
        }
        this.#set({ state: this.#snapshot.value === undefined ? "connecting" : "reconnecting" });
        await pause(pauseMs(failures + 1, RETRY_DEFAULTS), signal);
      }
  }

  async #follow(loaded: State, cursor: string, signal: AbortSignal): Promise<void> {
    let value = loaded;
    const subscription = this.#source.follow(cursor, signal);
    subscription.onState((state) => {
      if (!signal.aborted && state !== "ended") this.#set({ state });
    });
    for await (const { data } of subscription) {
      if (signal.aborted) return;
      value = this.#source.reduce(value, data);
      this.#set({ value });
    }
  }

  #set(change: Partial<StateSnapshot<State>>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Resolves after the time, or with the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = wake(ms, done);
    signal.addEventListener("abort", done);
  });
}
