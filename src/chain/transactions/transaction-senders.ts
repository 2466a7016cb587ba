import QuickLru from "quick-lru";
import { type PublicClient, TransactionNotFoundError } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { chainError } from "../rpc/rpc.client.ts";
import type { ChainLog } from "../watcher/log-handler.ts";

type Signed = { readonly from: Hex; readonly blockHash: Hex };

const AT_ONCE = 16;
const REMEMBERED = 10_000;

/**
 * Finds out who signed transactions. What an endpoint told before it failed is remembered, so that a page of many
 * submissions is read in the end also from one that answers only so many calls at a time.
 */
export class TransactionSenders {
  readonly #known = new QuickLru<Hex, Signed>({ maxSize: REMEMBERED });

  /**
   * The same logs, each with who signed its transaction. Undefined when a transaction is not, or no longer, in the
   * block that its log names: the chain moved, or the endpoint lags. Throws `chain_error`.
   */
  async sign(client: PublicClient, logs: readonly ChainLog[]): Promise<readonly ChainLog[] | undefined> {
    const signed: ChainLog[] = [];
    for (let from = 0; from < logs.length; from += AT_ONCE) {
      const batch = logs.slice(from, from + AT_ONCE);
      const asked = await Promise.allSettled(batch.map((log) => this.#ask(client, log)));
      const failed = asked.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
      for (const log of batch) {
        const transaction = this.#known.get(log.transactionHash);
        if (transaction?.blockHash !== log.blockHash) return undefined;
        signed.push({ ...log, transactionSender: transaction.from });
      }
    }
    return signed;
  }

  async #ask(client: PublicClient, { transactionHash: hash, blockHash: wanted }: ChainLog): Promise<void> {
    if (this.#known.get(hash)?.blockHash === wanted) return;
    try {
      const { from, blockHash } = await client.getTransaction({ hash });
      if (blockHash) this.#known.set(hash, { from: lowerHex(from), blockHash: lowerHex(blockHash) });
    } catch (error) {
      if (!(error instanceof TransactionNotFoundError)) throw chainError("a transaction", error);
    }
  }
}
