import type { DomainEvent, Topic } from "./topics.ts";

/** The events a reader wants: those of one topic, of one subject or of all subjects. */
export type EventFilter<T extends Topic = Topic> = {
  readonly topic: T;
  readonly subject?: string | undefined;
};

/** Events as they arrive. `return()` ends the stream at once and releases its source. */
export type EventStream<T extends Topic = Topic> = AsyncIterableIterator<DomainEvent<T>>;

/**
 * Carries published events between processes (Redis Streams) or within one (memory). It retains the newest events
 * for replay; older events are read from the outbox, which is the source of truth.
 */
export interface Bus {
  /**
   * Publishes new events in order of position. An event that already has its position on the bus is left as it is.
   * Throws `PositionTakenError` for one whose position, or a later one of its topic, belongs to another event; the
   * events before it may be published.
   */
  publish(events: readonly DomainEvent[]): Promise<void>;
  /** Publishes past events again, to a bus that may have lost them. Those before the newest of their topic are left out. */
  restore(events: readonly DomainEvent[]): Promise<void>;
  /**
   * Follows a topic. With `after`, first replays the retained events with a greater position, with no gap and no
   * duplicate between replay and live. A reader that falls 1,000 live events behind, or that replays more slowly than
   * retained events are dropped, is ended with an error.
   */
  subscribe<T extends Topic>(filter: EventFilter<T>, after?: bigint): Promise<EventStream<T>>;
  /**
   * Whether `subscribe` is certain to replay every event of the topic published after `after`, provided that `after`
   * does not predate the bus itself. When false, read the events that may be missing from the outbox.
   */
  coversSince(topic: Topic, after: bigint): boolean;
  /** Whether the bus holds the recent events: false when it is new, or has lost its data since `markSeeded`. */
  isSeeded(): Promise<boolean>;
  /** Records that the recent events have been published to the bus, or republished after it lost them. */
  markSeeded(): Promise<void>;
  /** The greatest position ever published, across all topics; 0 when nothing was published. */
  newestPosition(): Promise<bigint>;
  /** Whether the bus answers, but refuses to be read: readers receive no events. */
  readonly isRefused: boolean;
  /** Ends every reader and closes the connections. */
  close(): Promise<void>;
}
