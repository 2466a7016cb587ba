import type { Queries } from "../db/database.ts";
import { NaturalBatch } from "../kernel/async/batch.ts";
import type { EventFilter } from "./bus.ts";
import { type ReplayWindow, readPosition, readReplayWindow } from "./outbox.ts";
import { REPLAY_PAGE } from "./replayed-stream.ts";
import type { Topic } from "./topics.ts";

type PastAsk = EventFilter & { readonly after: bigint };

/** Reads under way at once; one that takes long then holds up few. */
const LANES = 4;
/** Questions that one read may answer. */
const MAX_BATCH = 1_000;

/**
 * What readers who resume ask the outbox. Thousands come back at the same moment when a gateway or a bus was gone, and
 * most of them ask the same: those that wait together share one statement. A statement begins after the last of its
 * callers came, so that no answer is older than its question.
 */
export class OutboxReads {
  readonly #positions: NaturalBatch<Topic, bigint>;
  readonly #pasts: NaturalBatch<PastAsk, ReplayWindow>;

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
      (asks) =>
        onceEach(
          asks,
          ({ topic, subject, after }) => `${after} ${topic} ${subject ?? ""}`,
          ({ after, ...filter }) => readReplayWindow(queries, filter, after, REPLAY_PAGE),
        ),
      sizes,
    );
  }

  /** From where a reader of `topic` may resume who knows all that is committed now. */
  position(topic: Topic): Promise<bigint> {
    return this.#positions.add(topic);
  }

  /** What is published behind position `after`, a page of it. */
  past({ topic, subject }: EventFilter, after: bigint): Promise<ReplayWindow> {
    return this.#pasts.add({ topic, subject, after });
  }
}

/** Answers each item, and those of one key by one call. A failure is that of every item of the batch. */
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
