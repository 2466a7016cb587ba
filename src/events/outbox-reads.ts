import type { Queries } from "../db/database.ts";
import { NaturalBatch } from "../kernel/batch.ts";
import type { EventFilter } from "./bus.ts";
import { newestPublished, readEvents, readHorizon } from "./outbox.ts";
import { REPLAY_PAGE, type ReplayPage } from "./replayed-stream.ts";
import type { Topic } from "./topics.ts";

/** Which positions a reader may resume from, both included. */
type Horizon = { readonly oldest: bigint; readonly newest: bigint };
type PageAsk = EventFilter & { readonly after: bigint };

/** Reads under way at once; one that takes long then holds up few. */
const LANES = 4;
/** Questions that one read may answer. */
const MOST_ASKED = 1_000;

/**
 * What readers who resume ask the outbox. Thousands come back at the same moment when a gateway or a bus was gone, and
 * most of them ask the same: those that wait together share one statement. A statement begins after the last of its
 * askers came, so that nobody is answered from before their question.
 */
export class OutboxReads {
  readonly #horizons: NaturalBatch<Topic, Horizon>;
  readonly #pages: NaturalBatch<PageAsk, ReplayPage>;

  constructor(queries: Queries) {
    const sizes = { max: MOST_ASKED, lanes: LANES };
    this.#horizons = new NaturalBatch(
      (topics) =>
        onceEach(
          topics,
          (topic) => topic,
          (topic) => readHorizon(queries, topic),
        ),
      sizes,
    );
    this.#pages = new NaturalBatch(
      (asks) =>
        onceEach(
          asks,
          ({ topic, subject, after }) => `${after} ${topic} ${subject ?? ""}`,
          (ask) => readPage(queries, ask),
        ),
      sizes,
    );
  }

  /** Which positions a reader of `topic` may resume from. */
  horizon(topic: Topic): Promise<Horizon> {
    return this.#horizons.add(topic);
  }

  /** What is published behind position `after`, a page of it. */
  page({ topic, subject }: EventFilter, after: bigint): Promise<ReplayPage> {
    return this.#pages.add({ topic, subject, after });
  }
}

/**
 * The outbox is the truth and finds a subject by index, so the past comes from there. The bus then replays from
 * `newest`: what is behind it may be published but not committed yet, and what is before it is all committed.
 */
async function readPage(queries: Queries, { after, ...filter }: PageAsk): Promise<ReplayPage> {
  const newest = await newestPublished(queries);
  const events = await readEvents(queries, filter, after, REPLAY_PAGE);
  const last = events.at(-1)?.position ?? after;
  const full = events.length === REPLAY_PAGE;
  return { events, upTo: full || last > newest ? last : newest, full };
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
