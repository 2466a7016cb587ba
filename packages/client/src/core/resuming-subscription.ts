import { pauseMs, wake } from "./backoff.ts";
import { Connection } from "./connection.ts";
import { declaresAfter, type Operation, rootFieldOf } from "./document.ts";
import { EventsLost, ZerographError } from "./errors.ts";
import { type Failure, failureOfErrors, isCursorFailure } from "./failures.ts";
import { type LiveEvent, readEvent } from "./live-event.ts";
import { PushIterator } from "./push-iterator.ts";
import { ReplayEnd } from "./replay-end.ts";
import { SeenIds } from "./seen-ids.ts";
import { startsWithState } from "./snapshot-fields.ts";
import type { SubscribeOptions, Subscription } from "./subscribe-options.ts";
import { limitsOf, type SubscriptionLimits } from "./subscription-limits.ts";
import { Observed, type SubscriptionState } from "./subscription-state.ts";
import type { GraphResult, Transport } from "./transport.ts";

/** What a subscription needs of its client. */
export type SubscriptionParts = {
  readonly transport: Transport;
  /** The current position of the event streams. */
  readonly readCursor: (signal: AbortSignal) => Promise<string>;
};

/** Subscribes over a transport, and again after the last cursor whenever the connection is lost. */
export class ResumingSubscription<T> implements Subscription<T> {
  readonly #parts: SubscriptionParts;
  readonly #operation: Operation;
  readonly #options: SubscribeOptions;
  readonly #limits: SubscriptionLimits;
  readonly #canResume: boolean;
  readonly #state = new Observed<SubscriptionState>("connecting");
  readonly #seen = new SeenIds();
  readonly #stopped = new AbortController();
  readonly #replay = new ReplayEnd(() => this.#state.set("live"));
  readonly #events: PushIterator<LiveEvent<T>>;
  /** Of the last event that arrived, and of the last one that the reader took. */
  #cursor: string | null;
  #takenCursor: string | null;
  #error: Error | undefined;
  #connection: Connection | undefined;
  #wasOpened = false;
  /** Failures since the last event, and when the first of them was. */
  #failures = 0;
  #lostAtMs: number | undefined;
  #isPaused = false;
  #cancelWake: () => void = () => {};

  constructor(parts: SubscriptionParts, operation: Operation, options: SubscribeOptions = {}) {
    this.#parts = parts;
    this.#operation = operation;
    this.#options = options;
    this.#limits = limitsOf(options);
    this.#canResume = declaresAfter(operation.query);
    this.#cursor = options.after ?? null;
    this.#takenCursor = this.#cursor;
    this.#events = new PushIterator({
      onTaken: (event) => this.#onTaken(event),
      onReturn: () => this.#finish(),
    });
    const { signal } = options;
    const onAbort = () => void this.return();
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#stopped.signal.addEventListener("abort", () => signal?.removeEventListener("abort", onAbort));
    if (signal?.aborted) onAbort();
    else this.#connect(this.#isReplay());
  }

  get state(): SubscriptionState {
    return this.#state.value;
  }

  get cursor(): string | null {
    return this.#takenCursor;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  onState(listener: (state: SubscriptionState) => void): () => void {
    return this.#state.listen(listener);
  }

  reconnect(): void {
    if (this.#stopped.signal.aborted || this.#isPaused) return;
    this.#disconnect();
    this.#failures = 0;
    this.#lostAtMs = undefined;
    this.#state.set(this.#wasOpened ? "reconnecting" : "connecting");
    this.#connect(this.#isReplay());
  }

  next(): Promise<IteratorResult<LiveEvent<T>, undefined>> {
    return this.#events.next();
  }

  return(): Promise<IteratorResult<LiveEvent<T>, undefined>> {
    return this.#events.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #connect(isReplay: boolean): void {
    const onOpened = () => {
      this.#wasOpened = true;
      this.#state.set(isReplay ? "replaying" : "live");
      if (isReplay) this.#replay.start();
    };
    this.#connection = new Connection(this.#parts.transport, () => this.#prepare(), {
      silentMs: this.#limits.silentMs,
      report: {
        opened: onOpened,
        result: (result) => this.#onResult(result),
        ended: () => this.#finish(),
        failed: (failure) => this.#onFailure(failure),
      },
    });
  }

  /**
   * Without a cursor, a connection that is lost before the first event could not resume. So the position is read
   * before the subscription is opened, except for streams that start with the state: those are opened again.
   */
  async #prepare(): Promise<Operation> {
    const { query, variables } = this.#operation;
    if (!this.#canResume) return this.#operation;
    if (this.#cursor === null && !startsWithState(rootFieldOf(query))) {
      const position = await this.#parts.readCursor(this.#stopped.signal);
      // A later connection may have its cursor already, and events after it that this position would skip.
      if (this.#cursor === null) this.#takenCursor = this.#cursor = position;
    }
    const after = this.#cursor === null ? {} : { after: this.#cursor };
    return { ...this.#operation, variables: { ...variables, ...after } };
  }

  #onResult(result: GraphResult): void {
    if (!result.data) {
      this.#onFailure(failureOfErrors(result.errors ?? []));
      return;
    }
    const { at, ...event } = readEvent<T>(result);
    if (this.#canResume && event.cursor === undefined) {
      this.#finish(
        new ZerographError("cursor_not_selected", "Select `cursor` in the subscription: it resumes with it."),
      );
      return;
    }
    this.#failures = 0;
    this.#lostAtMs = undefined;
    this.#cursor = event.cursor ?? this.#cursor;
    this.#replay.saw(at);
    if (event.id !== undefined && !this.#seen.add(event.id)) return;
    this.#events.push(event);
    if (this.#events.waiting >= this.#limits.maxWaiting) this.#pause();
  }

  /** Gives up the connection: what the reader cannot take yet waits at the server. */
  #pause(): void {
    this.#disconnect();
    if (this.#canResume) {
      this.#isPaused = true;
      this.#state.set("reconnecting");
    } else this.#finish(this.#lost("The reader is too slow for the stream, which cannot resume."));
  }

  #onTaken({ cursor }: LiveEvent<T>): void {
    this.#takenCursor = cursor ?? this.#takenCursor;
    if (!this.#isPaused || this.#events.waiting > this.#limits.maxWaiting / 2) return;
    this.#isPaused = false;
    this.#connect(true);
  }

  #onFailure({ error, canRetry, retryAfterMs = 0 }: Failure): void {
    const { retry } = this.#limits;
    const { maxPauseMs, giveUpAfterMs } = retry;
    if ((this.#connection?.openMs ?? 0) > Math.min(maxPauseMs, giveUpAfterMs)) {
      this.#failures = 0;
      this.#lostAtMs = undefined;
    }
    this.#disconnect();
    this.#lostAtMs ??= Date.now();
    const end = this.#endBy(error, canRetry && Date.now() - this.#lostAtMs < giveUpAfterMs);
    if (end) {
      this.#finish(end);
      return;
    }
    this.#state.set(this.#wasOpened ? "reconnecting" : "connecting");
    const waitMs = Math.max(pauseMs(++this.#failures, retry), Math.min(retryAfterMs, maxPauseMs));
    this.#cancelWake = wake(waitMs, () => this.#connect(this.#isReplay()));
  }

  /** Whether the next connection begins with events of the past. */
  #isReplay(): boolean {
    return this.#wasOpened || typeof this.#options.after === "string";
  }

  /** The error with which a failure ends the subscription; undefined if it is opened again. */
  #endBy(error: Error, canRetry: boolean): Error | undefined {
    if (this.#canResume && isCursorFailure(error)) {
      const { code, message, errors } = error;
      return new EventsLost(code, message, { cause: error, errors, cursor: this.#cursor });
    }
    if (!canRetry) return error;
    const hasGap = this.#wasOpened && !this.#canResume && !this.#options.allowGaps;
    return hasGap ? this.#lost("The connection was lost, and this stream cannot resume.", error) : undefined;
  }

  #lost(message: string, cause?: unknown): EventsLost {
    return new EventsLost("not_resumable", message, { cause, cursor: this.#cursor });
  }

  #disconnect(): void {
    this.#cancelWake();
    this.#replay.stop();
    this.#connection?.close();
    this.#connection = undefined;
  }

  #finish(error?: Error): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    this.#disconnect();
    this.#isPaused = false;
    this.#error = error;
    this.#events.end(error && { reason: error });
    this.#state.set("ended");
  }
}
