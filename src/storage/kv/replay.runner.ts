import QuickLRU from "quick-lru";
import { PollTimer } from "../../chain/watcher/poll-timer.ts";
import type { Database } from "../../db/database.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { KvFiles } from "./kv-files.ts";
import type { ReplayService } from "./replay.service.ts";
import {
  listPending,
  movePlace,
  type PendingTransaction,
  type ReplayPlace,
  readPlace,
} from "./replay.store.ts";
import { decodeTags } from "./stream-tags.ts";

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly replay: Pick<ReplayService, "open" | "decide">;
  readonly files: Pick<KvFiles, "find">;
  readonly log: Logger;
};

const PAGE = 100;
/** Limits how many transactions may wait for their files at once; all later ones wait as well. */
const MAX_PAGES = 100;
const POLL_MS = 1_000;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;

/** When to retry a missing file. After a reorg, another block has its sequence number. */
type Wait = { readonly root: Hex; readonly blockHash: Hex; readonly until: number; readonly ms: number };

/**
 * Replays transactions on streams in the order of the chain. A transaction whose file is missing delays later ones on
 * the same streams, and no others. Several processes may replay at once: one of them decides each transaction, and all
 * decide from the same state.
 */
export class ReplayRunner {
  readonly #dependencies: Dependencies;
  readonly #timer = new PollTimer();
  /** Bounded, because another process may decide the transactions that wait here. */
  readonly #waits = new QuickLRU<bigint, Wait>({ maxSize: PAGE * MAX_PAGES });
  #loop: Promise<void> | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Replays in the background until `stop`. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Signals that this file is complete, so that its transactions are retried now. A no-op before `start`. */
  nudge(root: Hex): void {
    if (!this.#loop || this.#timer.stopped) return;
    for (const [txSeq, wait] of this.#waits) if (wait.root === root) this.#waits.delete(txSeq);
    this.#timer.wake();
  }

  /** Resolves after the current decision has finished. */
  async stop(): Promise<void> {
    this.#timer.stop();
    await this.#loop;
  }

  /** Decides all transactions that can be decided now. */
  async pass(): Promise<void> {
    const { database, chainId } = this.#dependencies;
    const place = await readPlace(database, chainId);
    const waiting = new Set<Hex>();
    let from = place.nextSeq;
    let firstWaiting: bigint | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const pending = await listPending(database, chainId, { from, limit: PAGE });
      const undecided = await this.#decideAll(pending, waiting);
      firstWaiting ??= undecided;
      const last = pending.at(-1);
      if (last) from = last.txSeq + 1n;
      if (pending.length < PAGE || this.#timer.stopped) break;
    }
    await this.#move(place, firstWaiting ?? from);
  }

  /** Decides the transactions of a page that can be decided, and returns the first that cannot. */
  async #decideAll(pending: readonly PendingTransaction[], waiting: Set<Hex>): Promise<bigint | undefined> {
    const now = performance.now();
    const due = pending.filter((transaction) => (this.#waitOf(transaction)?.until ?? 0) <= now);
    const found = due.length > 0 ? await this.#dependencies.files.find(due.map(({ txSeq }) => txSeq)) : [];
    const files = new Map(due.map(({ txSeq }, at) => [txSeq, found[at]]));
    let first: bigint | undefined;
    for (const transaction of pending) {
      const { txSeq, tags } = transaction;
      if (this.#timer.stopped) return first ?? txSeq;
      const isDue = files.has(txSeq);
      const outcome = isDue
        ? await this.#dependencies.replay.decide(transaction, files.get(txSeq), waiting)
        : "waits";
      if (outcome === "decided" || outcome === "gone") this.#waits.delete(txSeq);
      else {
        first ??= txSeq;
        for (const streamId of decodeTags(tags) ?? []) waiting.add(streamId);
        // A missing file is not looked for in every pass, even behind another missing one.
        if (isDue && (outcome === "waits" || !files.get(txSeq))) this.#waitFor(transaction, now);
      }
    }
    return first;
  }

  #waitOf({ txSeq, blockHash }: PendingTransaction): Wait | undefined {
    const wait = this.#waits.get(txSeq);
    return wait?.blockHash === blockHash ? wait : undefined;
  }

  #waitFor(transaction: PendingTransaction, now: number): void {
    const { txSeq, root, blockHash } = transaction;
    const ms = Math.min((this.#waitOf(transaction)?.ms ?? FIRST_WAIT_MS / 2) * 2, MAX_WAIT_MS);
    this.#waits.set(txSeq, { root, blockHash, until: now + ms, ms });
  }

  async #move(place: ReplayPlace, nextSeq: bigint): Promise<void> {
    const { database, chainId } = this.#dependencies;
    if (nextSeq > place.nextSeq) await movePlace(database, chainId, { ...place, nextSeq });
  }

  async #run(): Promise<void> {
    const { replay, log } = this.#dependencies;
    let failures = 0;
    let isOpen = false;
    while (!this.#timer.stopped) {
      try {
        if (!isOpen) await replay.open();
        isOpen = true;
        await this.pass();
        failures = 0;
      } catch (error) {
        log.error({ err: error }, "replaying key-value transactions failed; trying again");
        failures++;
      }
      await this.#timer.wait(Math.min(POLL_MS * 2 ** failures, MAX_WAIT_MS));
    }
  }
}
