import type { DomainEvent, Topic } from "./topics.ts";

/** Which events a reader wants: one topic, and of it one subject or all. */
export type EventFilter<T extends Topic = Topic> = {
  readonly topic: T;
  readonly subject?: string | undefined;
};

/** Events as they come. `return()` ends it at once and lets go of the source. */
export type EventStream<T extends Topic = Topic> = AsyncIterableIterator<DomainEvent<T>>;

/**
 * Carries published events between the processes (Redis Streams) or within one (memory). It keeps the newest ones
 * for replay; what is older is read from the outbox, which is the truth.
 */
export interface Bus {
  /** Publishes in order of position. Publishing a position again, or one behind the newest, changes nothing. */
  publish(events: readonly DomainEvent[]): Promise<void>;
  /**
   * Follows a topic. With `after`, first replays what is kept with a greater position, with no gap and no double
   * between replay and live. A reader that falls 1,000 live events behind, or behind all that is kept while it
   * replays, is ended with an error.
   */
  subscribe<T extends Topic>(filter: EventFilter<T>, after?: bigint): Promise<EventStream<T>>;
  /**
   * Whether it is certain that `subscribe` replays everything of a topic that is published behind `after`, where that is
   * not before the bus itself. Where it is not certain, the outbox tells what may be lacking.
   */
  coversSince(topic: Topic, after: bigint): boolean;
  /** Whether it remembers what was published: false when it is new, or has lost its memory since `keep`. */
  isSeeded(): Promise<boolean>;
  /** Says that what it should remember was published, again where need be. */
  markSeeded(): Promise<void>;
  /** The greatest position ever published, over all topics; 0 when there is none. */
  newestPosition(): Promise<bigint>;
  /** Ends every reader and lets go of connections. */
  close(): Promise<void>;
}
