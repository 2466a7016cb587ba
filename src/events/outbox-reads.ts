import type { Queries } from "../db/database.ts";
import { NaturalBatch } from "../kernel/async/batch.ts";
import type { EventFilter } from "./bus.ts";
import { type ReplayWindow, readPosition, readReplayWindow } from "./outbox.ts";
import { REPLAY_PAGE } from "./replayed-stream.ts";
import type { Topic } from "./topics.ts";

type ReplayQuery = EventFilter & { readonly after: bigint };

/** Concurrent reads, so that a slow one delays few callers. */
const LANES = 4;
/** Callers that share one read at most. */
const MAX_BATCH = 1_000;

/**
 * Outbox reads for readers that resume. Thousands reconnect at the same moment after an outage of a gateway or bus, and
 * most of them read the same page: equal reads that wait together share one statement. A statement begins after the
 * last of its callers arrived, so that no result is older than its request.
 */
export class OutboxReads {
  readonly #positions: NaturalBatch<Topic, bigint>;
  readonly #pasts: NaturalBatch<ReplayQuery, ReplayWindow>;

  constructor(queries: Queries) {
    const sizes = { max: MAX_BATCH, lanes: LANES };
    this.#positions = new NaturalBatch(
      (topics) =>
        onceEach(
          topics,
          (topic) => topic,
          (topic) => readPosition(queries, topic),
        ),
      sizes,
    );
    this.#pasts = new NaturalBatch(
      (queued) =>
        onceEach(
          queued,
          ({ topic, subject, after }) => `${after} ${topic} ${subject ?? ""}`,
          ({ after, ...filter }) => readReplayWindow(queries, filter, after, REPLAY_PAGE),
        ),
      sizes,
    );
  }

  /** The position from which a reader of `topic` who knows everything committed so far may resume. */
  position(topic: Topic): Promise<bigint> {
    return this.#positions.add(topic);
  }

  /** One page of the events published after position `after`. */
  past({ topic, subject }: EventFilter, after: bigint): Promise<ReplayWindow> {
    return this.#pasts.add({ topic, subject, after });
  }
}

/** Resolves each item, with one call for all items of equal key. One failure fails every item of the batch. */
function onceEach<Item, Answer>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  answer: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers = new Map<string, Promise<Answer>>();
  return Promise.all(
    items.map((item) => {
      const key = keyOf(item);
      const known = answers.get(key) ?? answer(item);
      answers.set(key, known);
      return known;
    }),
  );
}
