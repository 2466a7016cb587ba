import QuickLru from "quick-lru";
import type { PublicClient } from "viem";
import type { Clock } from "../kernel/clock.ts";
import { AppError } from "../kernel/errors.ts";
import type { Hex } from "../kernel/text/hex.ts";
import { vaultAbi } from "./abi/vault.ts";

/** An account's balance in the vault, neuron, and when it was read. */
export type VaultBalance = { readonly balance: bigint; readonly queriedAt: Date };

type Dependencies = {
  readonly client: PublicClient;
  readonly vault: Hex;
  readonly clock: Clock;
  readonly deadlineMs?: number;
};

const DEADLINE_MS = 3_000;
const SHARED_MS = 2_000;
const MAX_CACHED_ACCOUNTS = 1_000;

/** Reads balances from the vault: `balanceOf(address)` is its only published function (facts 1.6). */
export class VaultClient {
  readonly #dependencies: Dependencies;
  readonly #recent = new QuickLru<string, Promise<VaultBalance>>({
    maxSize: MAX_CACHED_ACCOUNTS,
    maxAge: SHARED_MS,
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * An account's balance in the vault. Calls within 2 s share one result. Throws `vault_unavailable` when the chain
   * does not answer within 3 s.
   */
  balanceOf(account: Hex): Promise<VaultBalance> {
    const cached = this.#recent.get(account);
    if (cached) return cached;
    const balance = this.#read(account);
    this.#recent.set(account, balance);
    balance.catch(() => this.#recent.delete(account));
    return balance;
  }

  async #read(account: Hex): Promise<VaultBalance> {
    const { client, vault, clock, deadlineMs = DEADLINE_MS } = this.#dependencies;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`no answer in ${deadlineMs} ms`)), deadlineMs);
    try {
      const read = client.readContract({
        address: vault,
        abi: vaultAbi,
        functionName: "balanceOf",
        args: [account],
      });
      return { balance: await Promise.race([read, late.promise]), queriedAt: clock.now() };
    } catch (cause) {
      throw new AppError("vault_unavailable", "The vault cannot be read from the chain at the moment.", {
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}
