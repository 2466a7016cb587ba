import type { Database, Transaction } from "../db/database.ts";
import { CannotRevert, type ChainBlock, type ChainLog, type LogHandler } from "./log-handler.ts";
import { type LogPage, readFarPage, readNearPage } from "./log-pages.ts";
import {
  dropMarks,
  keepMarks,
  type Mark,
  moveCursor,
  openCursor,
  readCursor,
  readMarks,
} from "./log-watcher.store.ts";
import type { Pulse } from "./pulse.ts";
import type { Rpc } from "./rpc.client.ts";

/** What and how to scan: see `LogWatcherOptions`. */
export type ScanOptions = {
  readonly name: string;
  readonly rpc: Rpc;
  readonly database: Database;
  readonly startBlock: bigint;
  /** A block is final for the handlers when this many follow it. */
  readonly confirmations: number;
  readonly handlers: readonly LogHandler[];
  readonly pageBlocks?: number;
  /** Called after every commit, for whoever publishes the events in it. */
  readonly committed?: () => void;
  /** For the development network only: a chain with another block 0 is read from its start instead of halting. */
  readonly resetOnNewGenesis?: boolean;
};

/**
 * What one step came to. `scanned`: rows and cursor moved. `idle`: nothing new. `moved`: the chain, or another
 * watcher, moved under us; look again. `reverted`: `depth` blocks were taken back. `halted`: nothing may be written.
 */
export type Step =
  | { readonly kind: "scanned" | "idle"; readonly scanned: bigint | undefined; readonly head: bigint }
  | { readonly kind: "moved" }
  | {
      readonly kind: "reverted";
      readonly depth: number;
      readonly scanned: bigint | undefined;
      readonly head: bigint;
    }
  | { readonly kind: "halted"; readonly why: string };

const KEPT_BEYOND_CONFIRMATIONS = 64;

/** One look at the chain and at most one transaction at a time; `LogWatcher` repeats it. */
export class LogScanner {
  readonly #options: ScanOptions;
  readonly #pulse: Pulse;
  readonly #wanted: Pick<LogHandler, "addresses" | "topics">;
  /** How many blocks below the cursor are remembered, and read one by one. */
  readonly keptBlocks: bigint;

  constructor(options: ScanOptions, pulse: Pulse) {
    this.#options = options;
    this.#pulse = pulse;
    this.keptBlocks = BigInt(options.confirmations + KEPT_BEYOND_CONFIRMATIONS);
    this.#wanted = {
      addresses: [...new Set(options.handlers.flatMap(({ addresses }) => addresses))],
      topics: [...new Set(options.handlers.flatMap(({ topics }) => topics))],
    };
  }

  /** Throws what the chain, the database or a handler threw: then nothing was written, and the step may be repeated. */
  async step(): Promise<Step> {
    const { name, rpc, database, startBlock } = this.#options;
    const chainOfRows = await openCursor(database, name, rpc.chainId);
    if (chainOfRows !== rpc.chainId) return halted(`this database was filled from chain ${chainOfRows}`);
    const head = await this.#pulse.orStop(rpc.head());
    const cursor = await readCursor(database, name);
    if (cursor && !(await this.#isOnChain(cursor, head))) return this.#rollBack(cursor, head);
    const from = cursor ? cursor.number + 1n : startBlock;
    if (from > head.number) return { kind: "idle", scanned: cursor?.number, head: head.number };
    const page = await this.#pulse.orStop(this.#read(cursor, from, head.number));
    if (!page || !(await this.#commit(cursor, page, head.number))) return { kind: "moved" };
    return { kind: "scanned", scanned: page.end.number, head: head.number };
  }

  async #isOnChain(mark: Mark, head: ChainBlock): Promise<boolean> {
    if (mark.number > head.number) return false;
    if (mark.number === head.number) return mark.hash === head.hash;
    if (mark.number + 1n === head.number) return mark.hash === head.parentHash;
    return this.#isStillThere(mark);
  }

  async #isStillThere(mark: Mark): Promise<boolean> {
    const there = await this.#pulse.orStop(this.#options.rpc.block(mark.number));
    return there?.hash === mark.hash;
  }

  #read(after: Mark | undefined, from: bigint, head: bigint): Promise<LogPage | undefined> {
    const { rpc, pageBlocks = 1_000 } = this.#options;
    const firstNear = head - this.keptBlocks + 1n;
    const pageEnd = from + BigInt(pageBlocks) - 1n;
    return from < firstNear
      ? readFarPage(rpc, this.#wanted, { after, from, to: lesser(pageEnd, firstNear - 1n) })
      : readNearPage(rpc, this.#wanted, { after, from, to: lesser(pageEnd, head) });
  }

  /** False when the cursor is no longer where this page began. */
  async #commit(from: Mark | undefined, page: LogPage, head: bigint): Promise<boolean> {
    const { name, handlers, confirmations, rpc, resetOnNewGenesis } = this.#options;
    const genesis = !from && resetOnNewGenesis ? await this.#pulse.orStop(rpc.block(0n)) : undefined;
    const marks = [
      ...page.marks.filter(({ number }) => number > 0n || !genesis),
      ...(genesis ? [genesis] : []),
    ];
    return this.#transaction({ from, to: page.end, head }, async (tx) => {
      await keepMarks(tx, name, marks, page.end.number - this.keptBlocks);
      for (const handler of handlers) {
        const own = page.logs.filter((log) => isFor(handler, log));
        if (own.length > 0) await handler.apply(tx, own);
        await handler.confirm?.(tx, page.end.number - BigInt(confirmations));
      }
    });
  }

  async #rollBack(cursor: Mark, head: ChainBlock): Promise<Step> {
    const ancestor = await this.#commonAncestor(cursor, head);
    if (!ancestor)
      return (await this.#hasNewGenesis()) ? this.#beginAnew(cursor, head) : halted("no block in common");
    // A load-balanced endpoint that lags: its head is a block of ours. There is nothing to take back.
    if (ancestor.number === head.number || ancestor.number === cursor.number) return { kind: "moved" };
    const { name, handlers } = this.#options;
    const moved = await this.#revert({ from: cursor, to: ancestor, head: head.number }, async (tx) => {
      await dropMarks(tx, name, ancestor.number + 1n);
      for (const handler of handlers) await handler.revert(tx, ancestor.number + 1n, "reorg");
    });
    if (moved !== "reverted") return moved;
    const depth = Number(cursor.number - ancestor.number);
    return { kind: "reverted", depth, scanned: ancestor.number, head: head.number };
  }

  async #beginAnew(cursor: Mark, head: ChainBlock): Promise<Step> {
    const { name, handlers } = this.#options;
    const moved = await this.#revert({ from: cursor, to: undefined, head: head.number }, async (tx) => {
      await dropMarks(tx, name, 0n);
      for (const handler of handlers) await handler.revert(tx, 0n, "new-genesis");
    });
    if (moved !== "reverted") return moved;
    return { kind: "reverted", depth: Number(cursor.number), scanned: undefined, head: head.number };
  }

  async #revert(move: Move, work: (tx: Transaction) => Promise<void>): Promise<Step | "reverted"> {
    try {
      return (await this.#transaction(move, work)) ? "reverted" : { kind: "moved" };
    } catch (error) {
      if (error instanceof CannotRevert) return halted(error.message);
      throw error;
    }
  }

  /** The highest remembered block that the chain still has. */
  async #commonAncestor(cursor: Mark, head: ChainBlock): Promise<Mark | undefined> {
    const { database, name } = this.#options;
    const marks = await readMarks(
      database,
      name,
      cursor.number - this.keptBlocks,
      lesser(cursor.number, head.number),
    );
    for (const mark of marks) if (await this.#isStillThere(mark)) return mark;
    return undefined;
  }

  async #hasNewGenesis(): Promise<boolean> {
    const { database, name, resetOnNewGenesis } = this.#options;
    if (!resetOnNewGenesis) return false;
    const [genesis] = await readMarks(database, name, 0n, 0n);
    return genesis !== undefined && !(await this.#isStillThere(genesis));
  }

  /** Runs `work` with the cursor moved, all or nothing. False, and nothing done, when the cursor had moved before. */
  async #transaction(move: Move, work: (tx: Transaction) => Promise<void>): Promise<boolean> {
    const { database, name, committed } = this.#options;
    const moved = await database.transaction(async (tx) => {
      if (!(await moveCursor(tx, name, move))) return false;
      await work(tx);
      return true;
    });
    if (moved) committed?.();
    return moved;
  }
}

type Move = Parameters<typeof moveCursor>[2];

function isFor({ addresses, topics }: LogHandler, { address, topics: [topic] }: ChainLog): boolean {
  return topic !== undefined && addresses.includes(address) && topics.includes(topic);
}

function halted(why: string): Step {
  return { kind: "halted", why };
}

function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
