import QuickLRU from "quick-lru";
import type { Database, Transaction } from "../../db/database.ts";
import { appendEvents } from "../../events/outbox.ts";
import { findInTurns } from "../../kernel/async/map-in-turns.ts";
import { nextTurn } from "../../kernel/async/next-turn.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { ReaderKeys } from "../encryption/file-encryption.ts";
import { describeHeld, type HeldStreams, isHeld } from "./held-streams.ts";
import { judge, NO_RIGHT, type Verdict } from "./judge.ts";
import { type KvFile, type KvPlaintext, openPlaintext } from "./kv-file.ts";
import {
  insertControls,
  insertStreams,
  insertWrites,
  keepDecision,
  openReplay,
  type PendingTransaction,
  type StoredWrite,
  takeDecision,
} from "./replay.store.ts";
import { readState } from "./state.store.ts";
import type { StreamKey } from "./stream-data.ts";
import {
  type PlacedWrite,
  readStreamData,
  StreamDataError,
  type StreamHead,
  windowed,
} from "./stream-reader.ts";
import { decodeTags } from "./stream-tags.ts";

/** Values up to this size are stored in the database, while those of one transaction stay below the total. */
const INLINE_BYTES = 16_384;
const INLINE_TOTAL_BYTES = 1_048_576;
const PAUSE_EVERY = 256;
/** As many transactions as may wait at once. What is evicted is found out again: a missed file waits from the start. */
const MAX_REMEMBERED = 10_000;

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Signals that events were committed. */
  readonly committed: () => void;
};

/** The settings of a replay. */
type Options = {
  readonly held: HeldStreams;
  readonly keys: ReaderKeys;
  /** How long to wait for the file of a transaction, from the first time that this process misses it. */
  readonly dataWaitMs: number;
};

/**
 * `decided`: the outcome of the transaction is stored. `waits`: its file is not complete yet. `behind`: an earlier
 * transaction on one of its streams waits. `gone`: another process decided it, or its block was reorged out.
 */
export type Outcome = "decided" | "waits" | "behind" | "gone";

/** Decides transactions on streams as the network's key-value nodes do (facts: storage section 5.3). */
export class ReplayService {
  readonly #dependencies: Dependencies;
  readonly #options: Options;
  /**
   * When this process first missed the file of a transaction. The time of the submission does not count: a replay from
   * the beginning would then fail old transactions for good as soon as one read of a storage node fails.
   */
  readonly #missedAt = new QuickLRU<string, number>({ maxSize: MAX_REMEMBERED });
  /** Of a transaction that reads a stream with undecided transactions, this stream: until then, its file is not read. */
  readonly #behind = new QuickLRU<string, Hex>({ maxSize: MAX_REMEMBERED });

  constructor(dependencies: Dependencies, options: Options) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Initializes the position of the replay. Other streams than in the last run restart the whole replay. */
  async open(): Promise<void> {
    const { database, chainId } = this.#dependencies;
    await database.transaction((tx) => openReplay(tx, chainId, describeHeld(this.#options.held)));
  }

  /**
   * Decides a transaction, provided that all earlier ones on its streams are decided. `waiting` are the streams of
   * earlier undecided transactions; `found` is undefined until its file is complete.
   */
  async decide(
    pending: PendingTransaction,
    found: KvFile | undefined,
    waiting: ReadonlySet<Hex>,
  ): Promise<Outcome> {
    const { database, chainId } = this.#dependencies;
    // Found by its sequence number: a storage node that has not seen a reorg yet has another file under it.
    const file = found?.root === pending.root ? found : undefined;
    const { held } = this.#options;
    const streamIds = decodeTags(pending.tags) ?? [];
    if (streamIds.length === 0 || streamIds.some((id) => !isHeld(held, id)))
      return this.#store(pending, { result: null });
    // Files that are missed behind a missed file are waited for at the same time.
    if (!file) this.#missedMs(pending);
    const readStream = this.#behind.get(nameOf(pending));
    if (streamIds.some((id) => waiting.has(id)) || (readStream && waiting.has(readStream))) return "behind";
    const rights = await readState(database, chainId, {
      ...{ account: pending.sender, version: pending.txSeq, streamIds },
      keys: [],
    });
    // Checked before the file is read: a sender must not block a foreign stream with a file that is never uploaded.
    if (!rights.hasAnyRight) return this.#store(pending, NO_RIGHT);
    if (!file) return this.#missing(pending);
    try {
      return await this.#decideBy(file, pending, streamIds, waiting);
    } catch (error) {
      if (error instanceof StreamDataError)
        return this.#store(pending, { result: `DataParseError: ${error.message}` });
      if (!(error instanceof AppError)) throw error;
      this.#dependencies.log.warn(
        { txSeq: pending.txSeq.toString(), code: error.code },
        "the file of a key-value transaction cannot be read now",
      );
      return this.#missing(pending);
    }
  }

  async #decideBy(
    file: KvFile,
    pending: PendingTransaction,
    streamIds: readonly Hex[],
    waiting: ReadonlySet<Hex>,
  ): Promise<Outcome> {
    const { database, chainId } = this.#dependencies;
    const { held, keys } = this.#options;
    const plaintext = await openPlaintext(file, keys);
    const head = await readStreamData(plaintext);
    const behind = await findInTurns(head.reads, ({ streamId }) =>
      waiting.has(streamId) ? streamId : undefined,
    );
    if (behind) {
      this.#behind.set(nameOf(pending), behind);
      return "behind";
    }
    const state = await readState(database, chainId, {
      ...{ account: pending.sender, version: pending.txSeq, streamIds },
      keys: keysOf(head),
    });
    const verdict = await judge({ sender: pending.sender, streamIds: new Set(streamIds) }, head, {
      ...state,
      isHeld: (id) => isHeld(held, id),
    });
    if (verdict.kind === "refusal") return this.#store(pending, verdict);
    return this.#commit(pending, verdict, streamIds, plaintext);
  }

  async #commit(
    pending: PendingTransaction,
    verdict: Extract<Verdict, { kind: "commit" }>,
    streamIds: readonly Hex[],
    plaintext: KvPlaintext,
  ): Promise<Outcome> {
    const { chainId } = this.#dependencies;
    const { txSeq } = pending;
    const writes = await withValues(verdict.writes, plaintext);
    const { encryptionHeader } = plaintext;
    return this.#claim(pending, async (tx) => {
      await keepDecision(tx, chainId, txSeq, { result: verdict.result, isCommitted: true, encryptionHeader });
      await insertStreams(tx, chainId, txSeq, streamIds);
      await insertWrites(tx, chainId, txSeq, writes);
      await insertControls(tx, chainId, txSeq, verdict.controls);
      await publishCommitted(tx, pending, streamIds, false);
    });
  }

  #store(pending: PendingTransaction, { result }: { readonly result: string | null }): Promise<Outcome> {
    const { chainId } = this.#dependencies;
    return this.#claim(pending, (tx) =>
      keepDecision(tx, chainId, pending.txSeq, { result, isCommitted: false, encryptionHeader: undefined }),
    );
  }

  async #missing(pending: PendingTransaction): Promise<Outcome> {
    return this.#missedMs(pending) < this.#options.dataWaitMs
      ? "waits"
      : this.#store(pending, { result: "DownloadFailed" });
  }

  /** For how long the file of a transaction has been missed; the first call begins at 0. */
  #missedMs(pending: PendingTransaction): number {
    const key = nameOf(pending);
    const now = this.#dependencies.clock.monotonicMs();
    const since = this.#missedAt.get(key) ?? now;
    this.#missedAt.set(key, since);
    return now - since;
  }

  async #claim(pending: PendingTransaction, work: (tx: Transaction) => Promise<void>): Promise<Outcome> {
    const { database, chainId, committed } = this.#dependencies;
    const isOurs = await database.transaction(async (tx) => {
      if (!(await takeDecision(tx, chainId, pending))) return false;
      await work(tx);
      return true;
    });
    if (isOurs) committed();
    return isOurs ? "decided" : "gone";
  }
}

/** Publishes that a transaction was committed or reorged out, once for each of its streams. */
export async function publishCommitted(
  tx: Transaction | Parameters<typeof appendEvents>[0],
  { txSeq, root, sender }: Pick<PendingTransaction, "txSeq" | "root" | "sender">,
  streamIds: readonly Hex[],
  removed: boolean,
): Promise<void> {
  await appendEvents(
    tx,
    streamIds.map((streamId) => ({
      topic: "kv.committed",
      subject: streamId,
      data: { streamId, txSeq: txSeq.toString(), root, sender, removed },
    })),
  );
}

/** One name for a transaction in its block: after a reorg, another one may have its sequence number. */
function nameOf({ txSeq, blockHash }: PendingTransaction): string {
  return `${txSeq} ${blockHash}`;
}

function keysOf({ reads, writes, controls }: StreamHead): readonly StreamKey[] {
  return [...reads, ...writes, ...controls.flatMap(({ streamId, key }) => (key ? [{ streamId, key }] : []))];
}

async function withValues(
  writes: readonly PlacedWrite[],
  plaintext: KvPlaintext,
): Promise<readonly StoredWrite[]> {
  const source = windowed(plaintext);
  const stored: StoredWrite[] = [];
  let inlineBytes = 0;
  for (const [at, write] of writes.entries()) {
    // Values in the window are read without a pause.
    if (at % PAUSE_EVERY === PAUSE_EVERY - 1) await nextTurn();
    const isInline =
      write.sizeBytes > 0 &&
      write.sizeBytes <= INLINE_BYTES &&
      inlineBytes + write.sizeBytes <= INLINE_TOTAL_BYTES;
    if (isInline) inlineBytes += write.sizeBytes;
    stored.push({ ...write, value: isInline ? await copied(source, write) : undefined });
  }
  return stored;
}

type Part = { readonly offset: number; readonly sizeBytes: number };

/**
 * Copies a value, padded with zeros if it extends beyond the end of its file, within the last sector. As a part of its
 * window it would keep all of it: small values between large ones would keep the whole file in memory.
 */
async function copied(source: Pick<KvPlaintext, "read">, { offset, sizeBytes }: Part): Promise<Buffer> {
  const value = Buffer.alloc(sizeBytes);
  (await source.read(offset, sizeBytes)).copy(value);
  return value;
}
