import { type PublicClient, TransactionNotFoundError } from "viem";
import { type Hex, lowerHex } from "../kernel/hex.ts";
import type { ChainLog } from "./log-handler.ts";
import { chainError } from "./rpc.client.ts";

const AT_ONCE = 16;

/**
 * The same logs, each with who signed its transaction. Undefined when a transaction is not, or no longer, in the block
 * that its log names: the chain moved, or the endpoint lags. Throws `chain_error`.
 */
export async function withSenders(
  client: PublicClient,
  logs: readonly ChainLog[],
): Promise<readonly ChainLog[] | undefined> {
  const senders = new Map<Hex, Hex>();
  const wanted = [...new Map(logs.map((log) => [log.transactionHash, log.blockHash]))];
  for (let from = 0; from < wanted.length; from += AT_ONCE) {
    const batch = wanted.slice(from, from + AT_ONCE);
    const found = await Promise.all(batch.map(([hash]) => readTransaction(client, hash)));
    for (const [at, [hash, blockHash]] of batch.entries()) {
      const transaction = found[at];
      if (transaction?.blockHash !== blockHash) return undefined;
      senders.set(hash, transaction.from);
    }
  }
  return logs.map((log) => ({ ...log, transactionSender: senders.get(log.transactionHash) }));
}

async function readTransaction(
  client: PublicClient,
  hash: Hex,
): Promise<{ readonly from: Hex; readonly blockHash: Hex } | undefined> {
  try {
    const { from, blockHash } = await client.getTransaction({ hash });
    return blockHash ? { from: lowerHex(from), blockHash: lowerHex(blockHash) } : undefined;
  } catch (error) {
    if (error instanceof TransactionNotFoundError) return undefined;
    throw chainError("a transaction", error);
  }
}
