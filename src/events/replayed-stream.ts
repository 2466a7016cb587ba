import { PushIterator } from "../kernel/async/push-iterator.ts";
import { closeSource } from "../kernel/async/releasing-iterator.ts";
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

/**
 * Replays past events page by page as they are read, then follows live ones. It goes live after a page that was not
 * full and, unless `live` covers everything since, reads one more page, so that no event is missed in between. Live
 * events that the replay already delivered are dropped. `return()` ends the stream at once, even during a page read.
 */
export class ReplayedStream extends PushIterator<DomainEvent> {
  readonly #source: ReplaySource;
  #buffer: DomainEvent[] = [];
  #last: bigint;
  #first: ReplayPage | undefined;
  #live: AsyncIterator<DomainEvent> | undefined;
  #caughtUp = false;
  #serving = false;

  /** Starts after position `after`. */
  constructor(source: ReplaySource, after: bigint, { onEnd, first }: Options = {}) {
    super(onEnd);
    this.#source = source;
    this.#last = after;
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

  override next(): Promise<IteratorResult<DomainEvent>> {
    const event = super.next();
    void this.#serve();
    return event;
  }

  protected override release(): void {
    this.#buffer = [];
    closeSource(this.#live);
    super.release();
  }

  async #serve(): Promise<void> {
    if (this.#serving) return;
    this.#serving = true;
    try {
      while (this.isAwaited) {
        const event = await this.#take();
        if (event) this.push(event);
        else this.end();
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#serving = false;
    }
  }

  async #take(): Promise<DomainEvent | undefined> {
    while (!this.isEnded) {
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
    if (page.full || this.isEnded) return;
    if (this.#live) this.#caughtUp = true;
    else {
      this.#live = await this.#source.live(this.#last);
      this.#caughtUp = this.#source.coversSince?.(this.#last) ?? false;
    }
    // The reader may have left while the live stream was being opened.
    if (this.isEnded) await this.#live.return?.();
  }
}
