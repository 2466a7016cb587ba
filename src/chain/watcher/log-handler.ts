import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Mark } from "./log-watcher.store.ts";

/** The fields of a block that following the chain needs. */
export type ChainBlock = {
  readonly number: bigint;
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly timestamp: Date;
};

/** A log of a mined block. Hex strings are in lower case. */
export type ChainLog = {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  /** The signer of the transaction; set only for a handler with `needsSenders`. */
  readonly transactionSender?: Hex | undefined;
  readonly logIndex: number;
};

/**
 * Why blocks are reverted: a reorg replaced them, the development chain restarted at block 0, or an operator accepted
 * a reorg that had halted the watcher.
 */
export type RevertReason = "reorg" | "new-genesis" | "accepted";

/**
 * Processes the logs of one kind of contract. It writes only through the transaction that it is given, which also
 * moves the watcher's cursor, and it never calls the chain. A call that throws is retried, never skipped.
 */
export type LogHandler = {
  /** The contracts to follow, in lower case, and the first topics of their events. */
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  /** Whether its logs carry `transactionSender`, at the cost of one RPC call per transaction. */
  readonly needsSenders?: boolean;
  /** Applies new logs, in chain order. A log may be delivered again, so its rows need a unique identity. */
  apply(tx: Queries, logs: readonly ChainLog[]): Promise<void>;
  /**
   * Reverts everything from block `from` and above. Throws `CannotRevert` if something of it is final, unless `reason`
   * is `accepted`.
   */
  revert(tx: Queries, from: bigint, reason: RevertReason): Promise<void>;
  /**
   * The newest block at or below `upTo` of which a row is stored that was not reverted, undefined if there is none. A
   * rollback that finds it on the chain reverts nothing below it.
   */
  newestBlock(queries: Queries, upTo: bigint): Promise<Mark | undefined>;
  /** Marks everything up to block `upTo` as final. Called after `apply`, in the same transaction. */
  confirm?(tx: Queries, upTo: bigint): Promise<void>;
};

/** Whether a log is one that the handler follows. */
export function isFor({ addresses, topics }: LogHandler, { address, topics: [topic] }: ChainLog): boolean {
  return topic !== undefined && addresses.includes(address) && topics.includes(topic);
}

/** Thrown by a handler that would have to revert something final: the watcher then halts. */
export class CannotRevert extends Error {
  override readonly name = "CannotRevert";
}
