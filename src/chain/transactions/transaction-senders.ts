import QuickLru from "quick-lru";
import { type PublicClient, TransactionNotFoundError } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { chainError } from "../rpc/rpc.client.ts";
import type { ChainLog } from "../watcher/log-handler.ts";

type Signed = { readonly from: Hex; readonly blockHash: Hex };

const MAX_CONCURRENT = 16;
const MAX_CACHED = 10_000;

/**
 * Looks up the signers of transactions. Signers read before a failure stay cached, so that retries complete a page of
 * many submissions even on a rate-limited endpoint.
 */
export class TransactionSenders {
  readonly #known = new QuickLru<Hex, Signed>({ maxSize: MAX_CACHED });

  /**
   * The same logs, each with the signer of its transaction. Undefined when a transaction is not, or no longer, in the
   * block of its log: the chain moved, or the endpoint lags. Throws `chain_error`.
   */
  async sign(client: PublicClient, logs: readonly ChainLog[]): Promise<readonly ChainLog[] | undefined> {
    const signed: ChainLog[] = [];
    for (let from = 0; from < logs.length; from += MAX_CONCURRENT) {
      const batch = logs.slice(from, from + MAX_CONCURRENT);
      const results = await Promise.allSettled(batch.map((log) => this.#load(client, log)));
      const failed = results.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
      for (const log of batch) {
        const transaction = this.#known.get(log.transactionHash);
        if (transaction?.blockHash !== log.blockHash) return undefined;
        signed.push({ ...log, transactionSender: transaction.from });
      }
    }
    return signed;
  }

  async #load(client: PublicClient, { transactionHash: hash, blockHash: expected }: ChainLog): Promise<void> {
    if (this.#known.get(hash)?.blockHash === expected) return;
    try {
      const { from, blockHash } = await client.getTransaction({ hash });
      if (blockHash) this.#known.set(hash, { from: lowerHex(from), blockHash: lowerHex(blockHash) });
    } catch (error) {
      if (!(error instanceof TransactionNotFoundError)) throw chainError("a transaction", error);
    }
  }
}
