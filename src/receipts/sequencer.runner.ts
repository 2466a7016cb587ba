import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";
import { canonicalJson } from "./format/canonical-json.ts";
import { checkpointText, signNote } from "./format/checkpoint.ts";
import { appendLeaf, rootOfEdge } from "./format/merkle-log.ts";
import { leafHashOf, nodeHashOf } from "./native-hashes.ts";
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
import { longPauseMs, shortPauseMs } from "./slice-pause.ts";

const EVERY_MS = 1_000;
/** A slice takes some 20 ms, also where the database has one connection. */
const SLICE = 200;

type Dependencies = {
  readonly database: Database;
  readonly clock: Pick<Clock, "now">;
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
    return (await this.#appendSlice(limit)).length;
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

  /** The requests whose receipts were appended, the oldest first. */
  #appendSlice(limit: number): Promise<readonly SettledRow[]> {
    return this.#dependencies.database.transaction(async (tx) => {
      const state = await lockLog(tx);
      const rows = state ? await takeDrafts(tx, limit) : [];
      if (!state || rows.length === 0) return [];
      const { receipts, log } = continueLog(state, rows);
      await appendReceipts(tx, receipts, log);
      return rows;
    });
  }

  async #run(): Promise<void> {
    for (let isMore = true; isMore && !this.#isStopped; ) {
      const startedMs = performance.now();
      const rows = await this.#appendSlice(SLICE);
      // Under load there are always more, and the receipts so far need a head, too.
      await this.sign();
      isMore = rows.length === SLICE;
      if (isMore) await this.#pause(performance.now() - startedMs, rows[0]);
    }
  }

  async #pause(sliceMs: number, oldest: SettledRow | undefined): Promise<void> {
    const lagMs = oldest ? this.#dependencies.clock.now().getTime() - Date.parse(oldest.finished_at) : 0;
    const before = performance.eventLoopUtilization();
    await sleep(shortPauseMs(sliceMs));
    const { utilization } = performance.eventLoopUtilization(before);
    await sleep(longPauseMs(sliceMs, { utilization, lagMs }));
  }
}

/** The receipts of these requests as leaves after the log, and the log that they lead to. */
function continueLog(
  { size, edge: oldEdge, lastLeaf: oldLeaf }: LogState,
  rows: readonly SettledRow[],
): { readonly receipts: readonly StoredReceipt[]; readonly log: LogState } {
  const edge = [...oldEdge];
  let lastLeaf = oldLeaf;
  const receipts = rows.map((row, n) => {
    const body = canonicalJson(receiptOf(row, lastLeaf));
    lastLeaf = leafHashOf(body);
    return {
      leafIndex: size + n,
      requestId: row.request_id,
      account: row.account,
      keyId: row.api_key_id,
      body,
      nodes: appendLeaf(size + n, edge, lastLeaf, nodeHashOf),
    };
  });
  return { receipts, log: { size: size + rows.length, edge, lastLeaf } };
}
