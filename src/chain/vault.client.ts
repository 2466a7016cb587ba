import QuickLru from "quick-lru";
import type { PublicClient } from "viem";
import type { Clock } from "../kernel/clock.ts";
import { AppError } from "../kernel/errors.ts";
import type { Hex } from "../kernel/text/hex.ts";
import { vaultAbi } from "./abi/vault.ts";

/** What an account has in the vault, neuron, and when the chain was asked. */
export type VaultBalance = { readonly balance: bigint; readonly queriedAt: Date };

type Dependencies = {
  readonly client: PublicClient;
  readonly vault: Hex;
  readonly clock: Clock;
  readonly deadlineMs?: number;
};

const DEADLINE_MS = 3_000;
const SHARED_MS = 2_000;
const REMEMBERED_ACCOUNTS = 1_000;

/** Asks the vault for balances: of what it does, `balanceOf(address)` alone is published (facts 1.6). */
export class VaultClient {
  readonly #dependencies: Dependencies;
  readonly #asked = new QuickLru<string, Promise<VaultBalance>>({
    maxSize: REMEMBERED_ACCOUNTS,
    maxAge: SHARED_MS,
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * An account's balance in the vault. Whoever asks within 2 s shares the answer. Throws `vault_unavailable` when the
   * chain does not answer within 3 s.
   */
  balanceOf(account: Hex): Promise<VaultBalance> {
    const known = this.#asked.get(account);
    if (known) return known;
    const asked = this.#ask(account);
    this.#asked.set(account, asked);
    asked.catch(() => this.#asked.delete(account));
    return asked;
  }

  async #ask(account: Hex): Promise<VaultBalance> {
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
      throw new AppError("vault_unavailable", "The vault could not be read from the chain now.", { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
