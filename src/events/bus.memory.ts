import { setImmediate as nextTurn } from "node:timers/promises";
import { Mutex } from "../kernel/async/batch.ts";
import { AppError } from "../kernel/errors.ts";
import type { Bus, EventFilter, EventStream } from "./bus.ts";
import { PositionTakenError } from "./position-taken.ts";
import { Readers } from "./readers.ts";
import { FELL_BEHIND, REPLAY_PAGE, ReplayedStream, type ReplayPage } from "./replayed-stream.ts";
import type { DomainEvent, Topic } from "./topics.ts";

/** How many of a topic's newest events are retained, if they are not larger than `MAX_BYTES` together. */
const KEPT = 10_000;
const MAX_BYTES = 8 * 1_048_576;
/** Events are dropped in steps: removing one from the front of a long array costs its whole length. */
const STEP = 2_500;
const TURN = 500;
/** What an event takes in memory besides its texts, and each member of its data. */
const EVENT_BYTES = 320;
const MEMBER_BYTES = 16;

type Ring = { events: DomainEvent[]; sizeBytes: number; droppedUpTo: bigint };

/**
 * The bus of a deployment with one process. It retains at least the newest 10,000 events of each topic, or the newest
 * 4 MiB; readers of older ones find them in the database.
 */
export class MemoryBus implements Bus {
  readonly #readers = new Readers();
  readonly #publishing = new Mutex();
  readonly #rings = new Map<Topic, Ring>();
  #newest = 0n;

  /** How many live readers are attached. */
  get readers(): number {
    return this.#readers.size;
  }

  readonly isRefused = false;

  publish(events: readonly DomainEvent[]): Promise<void> {
    return this.#keepAll(events, (event) => {
      const { events: kept } = this.#ringOf(event.topic);
      if (kept[firstAfter(kept, event.position - 1n)]?.id !== event.id) throw new PositionTakenError(event);
    });
  }

  restore(events: readonly DomainEvent[]): Promise<void> {
    return this.#keepAll(events, () => {});
  }

  /** `onPast` receives an event that is not after the newest of its topic. */
  #keepAll(events: readonly DomainEvent[], onPast: (event: DomainEvent) => void): Promise<void> {
    return this.#publishing.run(async () => {
      for (let from = 0; from < events.length; from += TURN) {
        for (const event of events.slice(from, from + TURN))
          if (this.#keep(event)) await this.#readers.dispatch(event);
          else onPast(event);
        // Without this pause, a publisher in a tight loop starves the readers, and all of them are ended as too slow.
        await nextTurn();
      }
    });
  }

  async subscribe<T extends Topic>(filter: EventFilter<T>, after?: bigint): Promise<EventStream<T>> {
    if (after === undefined) return this.#readers.attach(filter) as EventStream<T>;
    const { droppedUpTo } = this.#ringOf(filter.topic);
    const past = {
      page: async (last: bigint) => this.#page(filter, last),
      live: async () => this.#readers.attach(filter),
    };
    return new ReplayedStream(past, after > droppedUpTo ? after : droppedUpTo) as EventStream<T>;
  }

  coversSince(topic: Topic, after: bigint): boolean {
    return this.#ringOf(topic).droppedUpTo <= after;
  }

  /** Always true: the bus and its readers share one process. */
  async isSeeded(): Promise<boolean> {
    return true;
  }

  async markSeeded(): Promise<void> {}

  async newestPosition(): Promise<bigint> {
    return this.#newest;
  }

  async close(): Promise<void> {
    this.#readers.end();
  }

  /** Whether the event is after the newest of its topic, and is kept. */
  #keep(event: DomainEvent): boolean {
    const ring = this.#ringOf(event.topic);
    if (event.position <= (ring.events.at(-1)?.position ?? 0n)) return false;
    ring.events.push(event);
    ring.sizeBytes += sizeOf(event);
    trim(ring);
    if (event.position > this.#newest) this.#newest = event.position;
    return true;
  }

  #page(filter: EventFilter, after: bigint): ReplayPage {
    const ring = this.#ringOf(filter.topic);
    if (ring.droppedUpTo > after) throw new AppError("unavailable", FELL_BEHIND);
    const from = firstAfter(ring.events, after);
    const page = ring.events.slice(from, from + REPLAY_PAGE);
    return {
      events: page.filter(({ subject }) => filter.subject === undefined || subject === filter.subject),
      upTo: page.at(-1)?.position ?? after,
      full: page.length === REPLAY_PAGE,
    };
  }

  #ringOf(topic: Topic): Ring {
    const known = this.#rings.get(topic);
    if (known) return known;
    const ring: Ring = { events: [], sizeBytes: 0, droppedUpTo: 0n };
    this.#rings.set(topic, ring);
    return ring;
  }
}

/** Drops the oldest events of a ring that has become too long, or too large. */
function trim(ring: Ring): void {
  const { events } = ring;
  let count = events.length >= KEPT + STEP ? STEP : 0;
  let droppedBytes = 0;
  for (let n = 0; n < count; n++) droppedBytes += sizeOf(events[n]);
  if (ring.sizeBytes - droppedBytes > MAX_BYTES)
    for (; ring.sizeBytes - droppedBytes > MAX_BYTES / 2 && count < events.length - 1; count++)
      droppedBytes += sizeOf(events[count]);
  if (count === 0) return;
  ring.droppedUpTo = events[count - 1]?.position ?? ring.droppedUpTo;
  ring.events = events.slice(count);
  ring.sizeBytes -= droppedBytes;
}

/** About how many bytes of memory an event takes. */
function sizeOf(event: DomainEvent | undefined): number {
  return EVENT_BYTES + bytesOf(event?.data);
}

function bytesOf(value: unknown): number {
  if (typeof value === "string") return MEMBER_BYTES + value.length;
  if (typeof value !== "object" || value === null) return MEMBER_BYTES;
  let sum = MEMBER_BYTES;
  for (const member of Object.values(value)) sum += bytesOf(member);
  return sum;
}

/** The index of the first event after `position`, by binary search. */
function firstAfter(events: readonly DomainEvent[], position: bigint): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.position ?? 0n) > position) high = middle;
    else low = middle + 1;
  }
  return low;
}
