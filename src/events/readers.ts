import { PushIterator } from "../kernel/async/push-iterator.ts";
import { forEachInTurns } from "../kernel/async/shared-turns.ts";
import type { EventFilter } from "./bus.ts";
import type { DomainEvent, Topic } from "./topics.ts";

const MAX_BEHIND = 1_000;

type Reader = PushIterator<DomainEvent>;

/**
 * The readers of one process. They are indexed by topic and subject, so that an event touches only the readers that
 * want it, and each reader has its own queue, so that a slow one does not delay the others.
 */
export class Readers {
  readonly #groups = new Map<string, Set<Reader>>();
  #ended = false;

  /** How many readers are attached. */
  get size(): number {
    return [...this.#groups.values()].reduce((sum, group) => sum + group.size, 0);
  }

  /**
   * A reader that receives every event dispatched from now on that matches `filter`. A reader that falls 1,000 events
   * behind is ended with an error.
   */
  attach(filter: EventFilter): Reader {
    const key = groupOf(filter.topic, filter.subject);
    const group = this.#groups.get(key) ?? new Set();
    this.#groups.set(key, group);
    const reader: Reader = new PushIterator<DomainEvent>(() => {
      group.delete(reader);
      if (group.size === 0) this.#groups.delete(key);
    }, MAX_BEHIND);
    group.add(reader);
    if (this.#ended) reader.end();
    return reader;
  }

  /**
   * Delivers `event` to the readers that match it now, in as many turns of the event loop as they need. The next event is
   * dispatched after it resolves, as readers would otherwise receive the two in any order.
   */
  dispatch(event: DomainEvent): Promise<void> {
    const readers = [undefined, event.subject].flatMap((subject) => [
      ...(this.#groups.get(groupOf(event.topic, subject)) ?? []),
    ]);
    return forEachInTurns(readers, (reader) => reader.push(event));
  }

  /** Ends every reader, after the events already delivered to it, and every reader attached later. */
  end(): void {
    this.#ended = true;
    for (const group of [...this.#groups.values()]) for (const reader of [...group]) reader.end();
  }
}

function groupOf(topic: Topic, subject: string | undefined): string {
  return subject === undefined ? topic : `${topic} ${subject}`;
}
