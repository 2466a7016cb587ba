import { createHash } from "node:crypto";
import type { PublicClient } from "viem";
import type { LogFilter, Rpc } from "../../../src/chain/rpc/rpc.client.ts";
import type { ChainBlock, ChainLog } from "../../../src/chain/watcher/log-handler.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";

/**
 * How an RPC endpoint behaves: well, not at all, as a node on the previous branch, or reporting every log
 * twice.
 */
export const RPC_MOODS = ["good", "down", "stale", "double"] as const;
export type RpcMood = (typeof RPC_MOODS)[number];

type Payment = { readonly hash: Hex; readonly account: Hex; readonly amount: bigint };
type Block = ChainBlock & { readonly payments: readonly Payment[] };

export const CHAIN_ID = 16_602;

/** A chain in memory with a vault on it. The simulation decides on its blocks and their order. */
export class SimChain {
  readonly #vault: Hex;
  readonly #topic: Hex;
  #blocks: Block[] = [];
  /** The branch before the latest reorg, as a lagging node still sees it. */
  #before: Block[] = [];
  #mempool: Payment[] = [];
  #made = 0;

  constructor({ vault, topic }: { vault: Hex; topic: Hex }) {
    this.#vault = vault;
    this.#topic = topic;
    this.#blocks = [this.#block(0n, hashOf("none"), [])];
    this.#before = this.#blocks;
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  pay(account: Hex, amount: bigint): void {
    this.#mempool.push({ hash: hashOf(`payment ${++this.#made}`), account, amount });
  }

  /** Mines a block with the oldest `count` pending payments. */
  mine(count = this.#mempool.length): void {
    const parent = this.#blocks.at(-1);
    if (!parent) throw new Error("a chain has a block");
    const payments = this.#mempool.splice(0, count);
    this.#blocks = [...this.#blocks, this.#block(parent.number + 1n, parent.hash, payments)];
  }

  /**
   * Replaces the newest `depth` blocks by as many others. `fate` is read bit by bit: a payment that was in
   * them is dropped, or pending again, before or after those already pending.
   */
  reorg(depth: number, fate: number): void {
    const kept = Math.max(1, this.#blocks.length - depth);
    const gone = this.#blocks.slice(kept).flatMap(({ payments }) => payments);
    this.#before = this.#blocks;
    this.#blocks = this.#blocks.slice(0, kept);
    const count = this.#before.length - kept;
    gone.forEach((payment, n) => {
      const verdict = (fate >> ((2 * n) % 30)) & 3;
      if (verdict === 1) this.#mempool.unshift(payment);
      else if (verdict > 1) this.#mempool.push(payment);
    });
    for (let n = 0; n < count; n++) this.mine(n === 0 ? Math.ceil(this.#mempool.length / 2) : undefined);
  }

  /** The deposits of each account on the current branch, neuron. */
  paidIn(): ReadonlyMap<Hex, bigint> {
    const sums = new Map<Hex, bigint>();
    for (const { account, amount } of this.#blocks.flatMap(({ payments }) => payments))
      sums.set(account, (sums.get(account) ?? 0n) + amount);
    return sums;
  }

  /** An endpoint of this chain, whose behaviour may change at every call. */
  rpc(moodOf: () => RpcMood): Rpc {
    const look = () => {
      const mood = moodOf();
      if (mood === "down") throw new AppError("chain_error", "The chain's RPC failed: simulated.");
      return { blocks: mood === "stale" ? this.#before : this.#blocks, double: mood === "double" };
    };
    return {
      client: undefined as unknown as PublicClient,
      chainId: CHAIN_ID,
      verifyChain: async () => {},
      endpoints: () => [],
      head: async () => look().blocks.at(-1) as Block,
      block: async (number) => look().blocks[Number(number)],
      finalized: async () => undefined,
      logs: async (filter) => {
        const { blocks, double } = look();
        const logs = blocks
          .filter((block) => isWanted(block, filter))
          .flatMap((block) => this.#logsOf(block));
        return double ? [...logs, ...logs] : logs;
      },
    };
  }

  #block(number: bigint, parentHash: Hex, payments: readonly Payment[]): Block {
    const hash = hashOf(`block ${++this.#made} on ${parentHash}`);
    return { number, hash, parentHash, payments, timestamp: new Date(Number(number) * 1_000) };
  }

  #logsOf(block: Block): ChainLog[] {
    return block.payments.map(({ hash, account, amount }, logIndex) => ({
      address: this.#vault,
      topics: [this.#topic, `0x${account.slice(2).padStart(64, "0")}`],
      data: `0x${amount.toString(16).padStart(64, "0")}`,
      blockNumber: block.number,
      blockHash: block.hash,
      transactionHash: hash,
      logIndex,
    }));
  }
}

function isWanted(block: Block, { where }: LogFilter): boolean {
  return "blockHash" in where
    ? block.hash === where.blockHash
    : block.number >= where.from && block.number <= where.to;
}

function hashOf(text: string): Hex {
  return `0x${createHash("sha256").update(text).digest("hex")}`;
}
