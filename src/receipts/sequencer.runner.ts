import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Logger } from "../kernel/log.ts";
import { checkpointText, signNote } from "./format/checkpoint.ts";
import { appendLeaf, rootOfEdge } from "./format/merkle-log.ts";
import { receiptBytes, receiptLeafHash } from "./format/receipt.ts";
import { receiptOf, type SettledRow } from "./receipt-body.ts";
import type { ReceiptKey } from "./receipt-key.ts";
import {
  appendReceipts,
  type LogState,
  lockLog,
  readUnsigned,
  type StoredReceipt,
  storeCheckpoint,
  takeDrafts,
} from "./receipts.store.ts";

const EVERY_MS = 1_000;
/** A slice takes some 20 ms, also where the database has one connection. */
const SLICE = 200;
/** The share of the event loop's time from which on the process counts as busy. */
const BUSY = 0.7;
/** While the process is busy, one twentieth of its time is used. */
const BUSY_PAUSE = 18;
const MAX_PAUSE_MS = 2_000;

type Dependencies = {
  readonly database: Database;
  readonly key: ReceiptKey;
  readonly log: Logger;
  /** The least time between two signed heads. */
  readonly checkpointSeconds: number;
};

/**
 * Appends the receipts of settled requests to the log, and signs its head. Every worker process runs a sequencer; the
 * row of the log is the lock that lets one at a time append. A slice is one transaction: its drafts are deleted, its
 * leaves are inserted, and the log has the new size, or none of it.
 */
export class ReceiptSequencer {
  readonly #dependencies: Dependencies;
  #isStopped = false;
  readonly #runs = new PeriodicTask({
    everyMs: EVERY_MS,
    work: () => this.#run(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "receipts could not be written"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Runs now and every second until `stop`. */
  start(): void {
    this.#runs.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#runs.stop();
  }

  /** Appends one slice of receipts. Returns their number; 0 if there is none, or another process is appending. */
  async sequence(limit = SLICE): Promise<number> {
    return this.#dependencies.database.transaction(async (tx) => {
      const state = await lockLog(tx);
      const rows = state ? await takeDrafts(tx, limit) : [];
      if (!state || rows.length === 0) return 0;
      const { receipts, log } = continueLog(state, rows);
      await appendReceipts(tx, receipts, log);
      return receipts.length;
    });
  }

  /** Signs the head of the log if it has grown, and the last head is old enough. Two processes sign the same note. */
  async sign(): Promise<void> {
    const { database, key, checkpointSeconds } = this.#dependencies;
    const state = await readUnsigned(database, checkpointSeconds);
    if (!state) return;
    const { size, edge } = state;
    const text = checkpointText({ origin: key.name, size, root: rootOfEdge(edge) });
    await storeCheckpoint(database, { note: signNote(text, key, key.sign), size });
  }

  async #run(): Promise<void> {
    for (let isMore = true; isMore && !this.#isStopped; ) {
      const startedMs = performance.now();
      isMore = (await this.sequence()) === SLICE;
      if (isMore) await pauseAfter(performance.now() - startedMs);
    }
    await this.sign();
  }
}

/** Leaves half of the time to others, and nearly all of it while they use it: receipts wait until there is time. */
async function pauseAfter(sliceMs: number): Promise<void> {
  const before = performance.eventLoopUtilization();
  await sleep(sliceMs);
  if (performance.eventLoopUtilization(before).utilization < BUSY) return;
  await sleep(Math.min(sliceMs * BUSY_PAUSE, MAX_PAUSE_MS));
}

/** The receipts of these requests as leaves after the log, and the log that they lead to. */
function continueLog(
  { size, edge: oldEdge, lastLeaf: oldLeaf }: LogState,
  rows: readonly SettledRow[],
): { readonly receipts: readonly StoredReceipt[]; readonly log: LogState } {
  const edge = [...oldEdge];
  let lastLeaf = oldLeaf;
  const receipts = rows.map((row, n) => {
    const bytes = receiptBytes(receiptOf(row, lastLeaf));
    lastLeaf = receiptLeafHash(bytes);
    return {
      leafIndex: size + n,
      requestId: row.request_id,
      account: row.account,
      keyId: row.api_key_id,
      body: Buffer.from(bytes).toString("utf8"),
      nodes: appendLeaf(size + n, edge, lastLeaf),
    };
  });
  return { receipts, log: { size: size + rows.length, edge, lastLeaf } };
}
