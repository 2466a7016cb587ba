import type { Queries } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import { invalidCursor } from "../kernel/page.ts";
import type { Bus, EventFilter, EventStream } from "./bus.ts";
import type { EventCursors } from "./event-cursors.ts";
import { KEPT_HOURS, lastPublished, type ReplayWindow } from "./outbox.ts";
import { OutboxReads } from "./outbox-reads.ts";
import { REPLAY_PAGE, ReplayedStream, type ReplayPage } from "./replayed-stream.ts";
import type { Topic } from "./topics.ts";

/** Event streams for subscriptions: the live events of one topic, optionally after a replay from a cursor. */
export class EventsService {
  readonly #queries: Queries;
  readonly #reads: OutboxReads;
  readonly #bus: Bus;
  readonly #cursors: EventCursors;
  readonly #maxStreams: number;
  #openStreams = 0;

  /** At most `maxStreams` streams are open at once. */
  constructor(queries: Queries, bus: Bus, cursors: EventCursors, { maxStreams = 20_000 } = {}) {
    this.#queries = queries;
    this.#reads = new OutboxReads(queries);
    this.#bus = bus;
    this.#cursors = cursors;
    this.#maxStreams = maxStreams;
  }

  /** How many streams are open. */
  get openStreams(): number {
    return this.#openStreams;
  }

  /**
   * Events as they arrive; with `after`, first every event after that cursor, at least once and in order of position.
   * The stream must be ended with `return()`, as `for await` does. Throws `invalid_cursor` for a cursor that was not
   * issued here, `cursor_expired` when events after it were deleted (after 24 h), `unavailable` at `maxStreams`. The
   * stream fails with `cursor_expired` when events are deleted before a slow reader has replayed them.
   */
  async follow<T extends Topic>(filter: EventFilter<T>, after?: string): Promise<EventStream<T>> {
    if (this.#openStreams >= this.#maxStreams)
      throw new AppError("unavailable", "Too many event streams are open. Try again later.");
    this.#openStreams++;
    const onEnd = () => {
      this.#openStreams--;
    };
    try {
      const stream =
        after === undefined ? await this.#live(filter, onEnd) : await this.#resume(filter, after, onEnd);
      return stream as EventStream<T>;
    } catch (error) {
      onEnd();
      throw error;
    }
  }

  /** The position from which a reader of any topic who knows everything committed so far may resume. */
  now(): Promise<bigint> {
    return lastPublished(this.#queries);
  }

  /** The position from which a reader of `topic` who knows everything committed so far may resume. */
  position(topic: Topic): Promise<bigint> {
    return this.#reads.position(topic);
  }

  /** The cursor of a position: a client that knows all events up to it resumes there. */
  cursorAt(position: bigint): string {
    return this.#cursors.seal(position);
  }

  /** The position of a cursor. Throws `invalid_cursor` for a cursor that this deployment did not issue. */
  positionOf(cursor: string): bigint {
    return this.#cursors.open(cursor);
  }

  async #live(filter: EventFilter, onEnd: () => void): Promise<ReplayedStream> {
    return ReplayedStream.live(await this.#bus.subscribe(filter), onEnd);
  }

  async #resume(filter: EventFilter, after: string, onEnd: () => void): Promise<ReplayedStream> {
    const position = this.positionOf(after);
    const past = await this.#reads.past(filter, position);
    if (position > past.newestCursor) throw invalidCursor();
    const source = {
      page: async (last: bigint) => toPage(await this.#reads.past(filter, last), last),
      live: (last: bigint) => this.#bus.subscribe(filter, last),
      coversSince: (last: bigint) => this.#bus.coversSince(filter.topic, last),
    };
    return new ReplayedStream(source, position, { onEnd, first: toPage(past, position) });
  }
}

/**
 * The outbox is the source of truth and finds a subject by index, so past events come from there. The bus then replays
 * from `newest`: events up to it are all committed, events after it may be published but not committed yet. Throws
 * `cursor_expired` when events after `after` were deleted, also while a slow reader replays the events before them.
 */
function toPage({ events, newest, oldestCursor }: ReplayWindow, after: bigint): ReplayPage {
  if (after < oldestCursor)
    throw new AppError("cursor_expired", `Events are retained for ${KEPT_HOURS} h; this cursor is older.`, {
      param: "after",
    });
  const last = events.at(-1)?.position ?? after;
  const full = events.length === REPLAY_PAGE;
  return { events, upTo: full || last > newest ? last : newest, full };
}
