import type { Queries } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import { decodeCursor, encodeCursor } from "../kernel/page.ts";
import type { Bus, EventFilter, EventStream } from "./bus.ts";
import { KEPT_HOURS, lastPublished, newestPublished } from "./outbox.ts";
import { OutboxReads } from "./outbox-reads.ts";
import { ReplayedStream } from "./replayed-stream.ts";
import type { Topic } from "./topics.ts";

const MAX_POSITION = 2n ** 63n - 1n;

/** What a subscription follows: events of one topic, live, or first everything since a cursor. */
export class EventsService {
  readonly #queries: Queries;
  readonly #reads: OutboxReads;
  readonly #bus: Bus;
  readonly #maxStreams: number;
  #openStreams = 0;

  /** At most `maxStreams` streams are open at once. */
  constructor(queries: Queries, bus: Bus, { maxStreams = 20_000 } = {}) {
    this.#queries = queries;
    this.#reads = new OutboxReads(queries);
    this.#bus = bus;
    this.#maxStreams = maxStreams;
  }

  /** How many streams are open. */
  get openStreams(): number {
    return this.#openStreams;
  }

  /**
   * Events as they come; with `after`, first every event behind that cursor, at least once and in order of position.
   * The stream must be ended with `return()`, as `for await` does. Throws `invalid_cursor` for what is no cursor of
   * ours, `cursor_expired` when events behind it were deleted (after 24 h), `unavailable` beyond the most streams.
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

  /** From where a reader of any topic may resume who knows all that is committed now. */
  now(): Promise<bigint> {
    return lastPublished(this.#queries);
  }

  /** From where a reader of `topic` may resume who knows all that is committed now. */
  async position(topic: Topic): Promise<bigint> {
    const [newest, { oldest }] = await Promise.all([
      newestPublished(this.#queries),
      this.#reads.horizon(topic),
    ]);
    return newest > oldest ? newest : oldest;
  }

  async #live(filter: EventFilter, onEnd: () => void): Promise<ReplayedStream> {
    return ReplayedStream.live(await this.#bus.subscribe(filter), onEnd);
  }

  async #resume(filter: EventFilter, after: string, onEnd: () => void): Promise<ReplayedStream> {
    const position = decodePosition(after);
    const { oldest, newest } = await this.#reads.horizon(filter.topic);
    if (position > newest) throw invalidCursor();
    if (position < oldest)
      throw new AppError("cursor_expired", `Events are kept for ${KEPT_HOURS} h; this cursor is older.`, {
        param: "after",
      });
    const source = {
      page: (last: bigint) => this.#reads.page(filter, last),
      live: (last: bigint) => this.#bus.subscribe(filter, last),
    };
    return new ReplayedStream(source, position, onEnd);
  }
}

/** The cursor of an event, opaque to clients. */
export function encodePosition(position: bigint): string {
  return encodeCursor("event", position.toString());
}

/** The position in a cursor. Throws `invalid_cursor` for anything that `encodePosition` did not make. */
export function decodePosition(cursor: string): bigint {
  const [kind, text = ""] = decodeCursor(cursor, 2);
  if (kind !== "event" || !/^(0|[1-9]\d{0,18})$/.test(text) || BigInt(text) > MAX_POSITION)
    throw invalidCursor();
  return BigInt(text);
}

function invalidCursor(): AppError {
  return new AppError("invalid_cursor", "This cursor is not one of ours.", { param: "after" });
}
