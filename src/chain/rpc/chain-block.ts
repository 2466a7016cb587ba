import { AppError } from "../../kernel/errors.ts";
import { type Hex, isHash32, lowerHex } from "../../kernel/text/hex.ts";
import type { ChainBlock } from "../watcher/log-handler.ts";

/** A block as viem formats it. Throws `chain_error` for an invalid one. */
export function toBlock(block: {
  number: bigint | null;
  hash: Hex | null;
  parentHash: Hex;
  timestamp: bigint;
}): ChainBlock {
  if (typeof block.number !== "bigint" || !block.hash || !isHash32(block.hash) || !isHash32(block.parentHash))
    throw new AppError("chain_error", "The chain's RPC returned an invalid block.");
  return {
    number: block.number,
    hash: lowerHex(block.hash),
    parentHash: lowerHex(block.parentHash),
    timestamp: new Date(Number(block.timestamp) * 1_000),
  };
}
