import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";

/** A block, as far as following the chain needs it. */
export type ChainBlock = {
  readonly number: bigint;
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly timestamp: Date;
};

/** A log of a mined block. Hex is in lower case. */
export type ChainLog = {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  /** Who signed the transaction; only for a handler that `needsSenders`. */
  readonly transactionSender?: Hex | undefined;
  readonly logIndex: number;
};

/**
 * Why blocks are taken back: other blocks took their place, the development chain began anew at block 0, or an operator
 * accepted a reorganisation that had halted the watcher.
 */
export type RevertReason = "reorg" | "new-genesis" | "accepted";

/**
 * One noun's part in following the chain. Everything it writes goes through the transaction it is given, in which the
 * watcher's cursor moves as well; it makes no calls of its own to the chain. What throws is tried again, never skipped.
 */
export type LogHandler = {
  /** The contracts it listens to, in lower case, and the first topics of its events. */
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[];
  /** Whether its logs come with who signed their transactions, at the cost of a call to the chain for each. */
  readonly needsSenders?: boolean;
  /** Takes in new logs, in the order of the chain. A log may come again, so its identity has to be unique. */
  apply(tx: Queries, logs: readonly ChainLog[]): Promise<void>;
  /**
   * Takes back what came from block `from` and above. Throws `CannotRevert` for what is final, unless the reason is
   * that an operator accepted it.
   */
  revert(tx: Queries, from: bigint, reason: RevertReason): Promise<void>;
  /** Makes final what came from block `upTo` and below. Comes after `apply`, in the same transaction. */
  confirm?(tx: Queries, upTo: bigint): Promise<void>;
};

/** A handler refuses to take back what it has made final: the watcher then halts instead. */
export class CannotRevert extends Error {
  override readonly name = "CannotRevert";
}
