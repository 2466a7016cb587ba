import type { VaultBalance } from "../chain/vault.client.ts";
import type { Hex } from "../kernel/text/hex.ts";
import type { Balance, BalanceService } from "./balance.service.ts";

/** The balance of an account with the router, and its balance in the vault on chain. */
export type Funds = { readonly router: Balance; readonly paymentLayer: VaultBalance };

type Dependencies = {
  readonly balances: BalanceService;
  readonly vault: { balanceOf(account: Hex): Promise<VaultBalance> };
};

/** Reads the ledger and the chain side by side. */
export class FundsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The balance of an account in the vault. Throws `vault_unavailable` if the chain does not respond in time. */
  inVault(account: Hex): Promise<VaultBalance> {
    return this.#dependencies.vault.balanceOf(account);
  }

  /** The funds of an account. Throws `vault_unavailable` if the chain does not respond in time. */
  async of(account: Hex): Promise<Funds> {
    const [router, paymentLayer] = await Promise.all([
      this.#dependencies.balances.byAccount(account),
      this.#dependencies.vault.balanceOf(account),
    ]);
    return { router, paymentLayer };
  }
}
