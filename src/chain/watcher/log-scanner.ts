import type { Database, Transaction } from "../../db/database.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { Rpc } from "../rpc/rpc.client.ts";
import { TransactionSenders } from "../transactions/transaction-senders.ts";
import { BlockMissing, type Fork, findFork, newestCommonRow, newestMark } from "./common-block.ts";
import { CannotRevert, type ChainBlock, isFor, type LogHandler, type RevertReason } from "./log-handler.ts";
import { type LogPage, readPage } from "./log-pages.ts";
import {
  type CursorMove,
  dropMarks,
  keepMarks,
  type Mark,
  moveCursor,
  openCursor,
  readAccepted,
  readMarks,
  type WatcherState,
} from "./log-watcher.store.ts";
import { PageLength } from "./page-length.ts";
import type { PollTimer } from "./poll-timer.ts";
import { RangeLength } from "./range-length.ts";
import { behind, halted, type Step } from "./scan-step.ts";

/** Options of a scan: see `LogWatcherOptions`. */
export type ScanOptions = {
  readonly name: string;
  readonly rpc: Rpc;
  readonly database: Database;
  readonly startBlock: bigint;
  /** A block is final for the handlers once this many blocks follow it. */
  readonly confirmations: number;
  /** Whether the block must also be `finalized`, if the endpoint supports that tag. */
  readonly waitFinalized?: boolean;
  readonly handlers: readonly LogHandler[];
  /** How many blocks beyond `confirmations` a reorg may revert without halting; 64 by default. */
  readonly reorgBlocks?: number;
  readonly pageBlocks?: number;
  /** From this age of the newest block on, the endpoint counts as behind: no limit by default. */
  readonly maxHeadAgeMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Called after every commit, to publish the events in it. */
  readonly committed?: () => void;
  /** For the development network only: if block 0 changed, read the chain from its start instead of halting. */
  readonly resetOnNewGenesis?: boolean;
};

const NEAR_BEYOND_CONFIRMATIONS = 64;
const REORG_BLOCKS = 64;
const PAGE_BLOCKS = 1_000;

/** Reads the chain once and writes at most one transaction per step; `LogWatcher` repeats the step. */
export class LogScanner {
  readonly #options: ScanOptions;
  readonly #timer: PollTimer;
  readonly #selection: Pick<LogHandler, "addresses" | "topics">;
  readonly #senders = new TransactionSenders();
  /** How many blocks up to the head are read one by one. */
  readonly #nearBlocks: bigint;
  readonly #keptBlocks: bigint;
  readonly #pageLength: PageLength;
  readonly #ranges = new RangeLength();
  #head: ChainBlock | undefined;

  constructor(options: ScanOptions, timer: PollTimer) {
    this.#options = options;
    this.#timer = timer;
    this.#keptBlocks = BigInt(options.confirmations + (options.reorgBlocks ?? REORG_BLOCKS));
    this.#nearBlocks = lesser(this.#keptBlocks, BigInt(options.confirmations + NEAR_BEYOND_CONFIRMATIONS));
    this.#pageLength = new PageLength(options.pageBlocks ?? PAGE_BLOCKS);
    this.#selection = {
      addresses: [...new Set(options.handlers.flatMap(({ addresses }) => addresses))],
      topics: [...new Set(options.handlers.flatMap(({ topics }) => topics))],
    };
  }

  /** The newest block of the chain that a step has seen, also a step that failed. */
  get head(): bigint | undefined {
    return this.#head?.number;
  }

  /** The age of that block, in milliseconds. */
  get headAgeMs(): number {
    const { clock = systemClock } = this.#options;
    return this.#head ? clock.now().getTime() - this.#head.timestamp.getTime() : 0;
  }

  /** The state of a watcher that has read the blocks up to `scanned`. */
  stateAt(scanned: bigint | undefined, head: bigint): WatcherState {
    const { maxHeadAgeMs = Number.POSITIVE_INFINITY } = this.#options;
    if (head - (scanned ?? head) >= this.#nearBlocks) return "backfilling";
    return this.headAgeMs > maxHeadAgeMs ? "rpc_behind" : "following";
  }

  /** Throws what the chain, the database or a handler threw; nothing was written then, and the step can be retried. */
  async step(): Promise<Step> {
    const { name, rpc, database, startBlock } = this.#options;
    const { chainId, mark: cursor } = await openCursor(database, name, rpc.chainId);
    if (chainId !== rpc.chainId) return halted(`this database was filled from chain ${chainId}`);
    const head = await this.#timer.orStop(rpc.head());
    this.#head = head;
    const reorg = cursor && (await this.#reorgOf(cursor, head));
    if (reorg) return reorg;
    const from = cursor ? cursor.number + 1n : startBlock;
    const place = { head: head.number, headHash: head.hash };
    if (from > head.number) return { kind: "idle", scanned: cursor?.number, ...place };
    const stretch = {
      ...{ after: cursor, from, head: head.number, near: this.#nearBlocks },
      ranges: this.#ranges,
    };
    const reading = this.#pageLength.read(Number(head.number - from) + 1, (pageBlocks) =>
      this.#readPage({ ...stretch, pageBlocks }),
    );
    const page = await this.#timer.orStop(reading);
    if (!page)
      return { kind: "behind", why: `it lacks block ${from}, or a later one, or replaced it meanwhile` };
    if (!(await this.#commit(cursor, page, head.number))) return { kind: "moved" };
    return { kind: "scanned", scanned: page.end.number, ...place };
  }

  async #readPage(stretch: Parameters<typeof readPage>[2]): Promise<LogPage | undefined> {
    const { rpc, handlers } = this.#options;
    const page = await readPage(rpc, this.#selection, stretch);
    const toSign = page?.logs.filter((log) =>
      handlers.some((handler) => handler.needsSenders && isFor(handler, log)),
    );
    if (!page || !toSign || toSign.length === 0) return page;
    const signed = await this.#senders.sign(rpc.client, toSign);
    if (!signed) return undefined;
    const known = new Map(toSign.map((log, at) => [log, signed[at] ?? log]));
    return { ...page, logs: page.logs.map((log) => known.get(log) ?? log) };
  }

  /** Handles a reorg of the cursor's block; undefined if there is none. */
  async #reorgOf(cursor: Mark, head: ChainBlock): Promise<Step | undefined> {
    try {
      return (await this.#isOnChain(cursor, head)) ? undefined : await this.#handleReorg(cursor, head);
    } catch (error) {
      if (error instanceof BlockMissing) return { kind: "behind", why: error.message };
      throw error;
    }
  }

  async #isOnChain(mark: Mark, head: ChainBlock): Promise<boolean> {
    if (mark.number > head.number) return false;
    if (mark.number === head.number) return mark.hash === head.hash;
    if (mark.number + 1n === head.number) return mark.hash === head.parentHash;
    return this.#isStillThere(mark);
  }

  /** Only for blocks up to the head: one that is missing there shows no reorg, but a backend that lags. */
  async #isStillThere({ number, hash }: Mark): Promise<boolean> {
    const there = await this.#timer.orStop(this.#options.rpc.block(number));
    if (!there) throw new BlockMissing(number);
    return there.hash === hash;
  }

  /** False when the cursor has moved since this page was read. */
  async #commit(from: Mark | undefined, page: LogPage, head: bigint): Promise<boolean> {
    const { name, handlers } = this.#options;
    const final = await this.#newestFinal(page.end.number);
    const marks = from ? page.marks : await this.#withGenesis(page.marks);
    return this.#transaction({ from, to: page.end, head }, async (tx) => {
      await keepMarks(tx, name, marks, page.end.number - this.#keptBlocks);
      for (const handler of handlers) {
        const own = page.logs.filter((log) => isFor(handler, log));
        if (own.length > 0) await handler.apply(tx, own);
        await handler.confirm?.(tx, final);
      }
    });
  }

  /** The newest block that the handlers may treat as final. */
  async #newestFinal(end: bigint): Promise<bigint> {
    const { rpc, confirmations, waitFinalized } = this.#options;
    const deepEnough = end - BigInt(confirmations);
    const finalized = waitFinalized ? await this.#timer.orStop(rpc.finalized()) : undefined;
    return finalized === undefined ? deepEnough : lesser(deepEnough, finalized);
  }

  /** The cursor's block is not on the chain: rolls back, or halts until an operator accepts the reorg. */
  async #handleReorg(cursor: Mark, head: ChainBlock): Promise<Step> {
    const { database, name } = this.#options;
    const step = await this.#rollBackToAncestor(cursor, head);
    return step.kind === "halted" && (await readAccepted(database, name)) ? this.#accept(cursor, head) : step;
  }

  async #rollBackToAncestor(cursor: Mark, head: ChainBlock): Promise<Step> {
    const { database, name } = this.#options;
    const top = lesser(cursor.number, head.number);
    const marks = await readMarks(database, name, cursor.number - this.#keptBlocks, top);
    const fork = await findFork(marks, (mark) => this.#isStillThere(mark));
    if (!fork.common) return this.#withoutAncestor(cursor, head, marks.length > 0);
    // Every stored block up to the head is on the chain, so nothing shows a reorg: the endpoint lags.
    if (!fork.gone) return top < cursor.number ? behind(cursor, head) : { kind: "moved" };
    return this.#rollBack(cursor, await this.#commonBlock(fork, top), head, "reorg");
  }

  async #withoutAncestor(cursor: Mark, head: ChainBlock, compared: boolean): Promise<Step> {
    const { database, name, resetOnNewGenesis } = this.#options;
    const [genesis] = await readMarks(database, name, 0n, 0n);
    const otherChain = genesis !== undefined && !(await this.#isStillThere(genesis));
    if (otherChain && resetOnNewGenesis) return this.#rollBack(cursor, undefined, head, "new-genesis");
    if (otherChain) return halted("the chain has a different block 0");
    if (compared) return halted(`the chain differs below block ${cursor.number - this.#keptBlocks}`);
    return behind(cursor, head);
  }

  /** Rolls back to the newest known block that both chains share, else to the start. */
  async #accept(cursor: Mark, head: ChainBlock): Promise<Step> {
    const { database, name } = this.#options;
    const top = lesser(cursor.number, head.number);
    const marks = await readMarks(database, name, 0n, top);
    const fork = await findFork(marks, (mark) => this.#isStillThere(mark));
    return this.#rollBack(cursor, await this.#commonBlock(fork, top), head, "accepted");
  }

  /** The newest block that both chains are known to share: marks may be far apart, and rows may lie between them. */
  async #commonBlock({ common, gone }: Fork, top: bigint): Promise<Mark | undefined> {
    const { database, handlers } = this.#options;
    const bounds = { low: common?.number ?? -1n, high: gone?.number ?? top + 1n };
    const newestStored = async (upTo: bigint) =>
      newestMark(await Promise.all(handlers.map((handler) => handler.newestBlock(database, upTo))));
    return (await newestCommonRow(bounds, newestStored, (mark) => this.#isStillThere(mark))) ?? common;
  }

  async #rollBack(
    cursor: Mark,
    ancestor: Mark | undefined,
    head: ChainBlock,
    reason: RevertReason,
  ): Promise<Step> {
    const { name, handlers, startBlock } = this.#options;
    // The common ancestor may be block 0 only, below the start block.
    const to = ancestor && ancestor.number + 1n >= startBlock ? ancestor : undefined;
    const from = to ? to.number + 1n : 0n;
    const reorgDepth = Number(cursor.number - from) + 1;
    try {
      const move = { from: cursor, to, head: head.number, reorgDepth };
      const moved = await this.#transaction(move, async (tx) => {
        await dropMarks(tx, name, ancestor ? ancestor.number + 1n : 0n);
        if (to) await keepMarks(tx, name, [to], to.number - this.#keptBlocks);
        for (const handler of handlers) await handler.revert(tx, from, reason);
      });
      if (!moved) return { kind: "moved" };
    } catch (error) {
      if (error instanceof CannotRevert) return halted(error.message);
      throw error;
    }
    return { kind: "reverted", depth: reorgDepth, scanned: to?.number, head: head.number };
  }

  /** Block 0 distinguishes chains that share a chain id. */
  async #withGenesis(marks: readonly Mark[]): Promise<readonly Mark[]> {
    if (marks.some(({ number }) => number === 0n)) return marks;
    const genesis = await this.#timer.orStop(this.#options.rpc.block(0n));
    return genesis ? [genesis, ...marks] : marks;
  }

  /** Runs `work` and moves the cursor atomically. Returns false and does nothing if the cursor has already moved. */
  async #transaction(
    move: Omit<CursorMove, "state">,
    work: (tx: Transaction) => Promise<void>,
  ): Promise<boolean> {
    const { database, name, committed } = this.#options;
    const state = this.stateAt(move.to?.number, move.head);
    const moved = await database.transaction(async (tx) => {
      if (!(await moveCursor(tx, name, { ...move, state }))) return false;
      await work(tx);
      return true;
    });
    if (moved) committed?.();
    return moved;
  }
}

function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
