import { PushIterator } from "../kernel/async/push-iterator.ts";
import type { EventFilter } from "./bus.ts";
import type { DomainEvent, Topic } from "./topics.ts";

const MAX_BEHIND = 1_000;

type Reader = PushIterator<DomainEvent>;

/**
 * The readers of one process. They are found by topic and subject, so that an event costs only those who want it,
 * and each has a queue of its own, so that a slow one delays no other.
 */
export class Readers {
  readonly #groups = new Map<string, Set<Reader>>();
  #ended = false;

  /** How many readers are attached. */
  get size(): number {
    return [...this.#groups.values()].reduce((sum, group) => sum + group.size, 0);
  }

  /**
   * A reader that is handed every event dispatched from now on that matches `filter`. When it falls 1,000 events
   * behind, it is ended with an error.
   */
  attach(filter: EventFilter): Reader {
    const key = groupOf(filter.topic, filter.subject);
    const group = this.#groups.get(key) ?? new Set();
    this.#groups.set(key, group);
    const reader: Reader = new PushIterator<DomainEvent>(() => {
      group.delete(reader);
      if (group.size === 0 && this.#groups.get(key) === group) this.#groups.delete(key);
    }, MAX_BEHIND);
    group.add(reader);
    if (this.#ended) reader.end();
    return reader;
  }

  /** Hands `event` to those who want it. */
  dispatch(event: DomainEvent): void {
    for (const reader of this.#groups.get(groupOf(event.topic, undefined)) ?? []) reader.push(event);
    for (const reader of this.#groups.get(groupOf(event.topic, event.subject)) ?? []) reader.push(event);
  }

  /** Ends every reader, after the events it was already handed, and every one that comes later. */
  end(): void {
    this.#ended = true;
    for (const group of [...this.#groups.values()]) for (const reader of [...group]) reader.end();
  }
}

function groupOf(topic: Topic, subject: string | undefined): string {
  return subject === undefined ? topic : `${topic} ${subject}`;
}
