import type { DomainEvent } from "./topics.ts";

/** A page of past events. The next page starts after `upTo`; `full` means that more may be waiting. */
export type ReplayPage = {
  readonly events: readonly DomainEvent[];
  readonly upTo: bigint;
  readonly full: boolean;
};

/** Where a stream gets its events: pages of past events, then `live`, which is opened once. */
type ReplaySource = {
  page(after: bigint): Promise<ReplayPage>;
  live(after: bigint): Promise<AsyncIterator<DomainEvent>>;
  /** Whether `live`, just opened, includes every event published after this position. */
  coversSince?(after: bigint): boolean;
};

type Options = {
  /** Runs once, however the stream ends. */
  readonly onEnd?: () => void;
  /** The first page, when it is already known. */
  readonly first?: ReplayPage;
};

/** Maximum number of events in one page. */
export const REPLAY_PAGE = 500;

/** The error message for a reader so slow that events it has not read yet were dropped. */
export const FELL_BEHIND =
  "This stream fell behind the events that are retained for replay. Resume from its last cursor.";

type Result = IteratorResult<DomainEvent>;
const DONE: Result = { done: true, value: undefined };

/**
 * Replays past events page by page as they are read, then follows live ones. It goes live after a page that was not
 * full and, unless `live` covers everything since, reads one more page, so that no event is missed in between. Live
 * events that the replay already delivered are dropped. `return()` ends the stream at once, even during a page read.
 */
export class ReplayedStream implements AsyncIterableIterator<DomainEvent> {
  readonly #source: ReplaySource;
  readonly #onEnd: () => void;
  readonly #waiting: Array<{ resolve(result: Result): void; reject(reason: unknown): void }> = [];
  #buffer: DomainEvent[] = [];
  #last: bigint;
  #first: ReplayPage | undefined;
  #live: AsyncIterator<DomainEvent> | undefined;
  #caughtUp = false;
  #serving = false;
  #ended = false;

  /** Starts after position `after`. */
  constructor(source: ReplaySource, after: bigint, { onEnd = () => {}, first }: Options = {}) {
    this.#source = source;
    this.#last = after;
    this.#onEnd = onEnd;
    this.#first = first;
  }

  /** Only follows `live`; there is nothing to replay. */
  static live(live: AsyncIterator<DomainEvent>, onEnd: () => void): ReplayedStream {
    const nothing = async (after: bigint) => ({ events: [], upTo: after, full: false });
    const stream = new ReplayedStream({ page: nothing, live: async () => live }, -1n, { onEnd });
    stream.#live = live;
    stream.#caughtUp = true;
    return stream;
  }

  next(): Promise<Result> {
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      void this.#serve();
    });
  }

  return(): Promise<Result> {
    this.#end();
    return Promise.resolve(DONE);
  }

  throw(reason?: unknown): Promise<Result> {
    this.#end();
    return Promise.reject(reason);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #serve(): Promise<void> {
    if (this.#serving) return;
    this.#serving = true;
    try {
      while (this.#waiting.length > 0) {
        const event = await this.#take();
        if (!event) this.#end();
        else this.#waiting.shift()?.resolve({ done: false, value: event });
      }
    } catch (error) {
      this.#waiting.shift()?.reject(error);
      this.#end();
    } finally {
      this.#serving = false;
    }
  }

  async #take(): Promise<DomainEvent | undefined> {
    while (!this.#ended) {
      const event = this.#buffer.shift();
      if (event) return event;
      if (!this.#caughtUp || !this.#live) await this.#fill();
      else {
        const next = await this.#live.next();
        if (next.done) return undefined;
        if (next.value.position > this.#last) return next.value;
      }
    }
    return undefined;
  }

  async #fill(): Promise<void> {
    const page = this.#first ?? (await this.#source.page(this.#last));
    this.#first = undefined;
    this.#buffer = [...page.events];
    this.#last = page.upTo;
    if (page.full || this.#ended) return;
    if (this.#live) this.#caughtUp = true;
    else {
      this.#live = await this.#source.live(this.#last);
      this.#caughtUp = this.#source.coversSince?.(this.#last) ?? false;
    }
    // The reader may have left while the live stream was being opened.
    if (this.#ended) await this.#live.return?.();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#buffer = [];
    for (const { resolve } of this.#waiting.splice(0)) resolve(DONE);
    void this.#live?.return?.();
    this.#onEnd();
  }
}
