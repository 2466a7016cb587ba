import type { VaultBalance } from "../chain/vault.client.ts";
import type { Hex } from "../kernel/text/hex.ts";
import type { Balance, BalanceService } from "./balance.service.ts";

/** What an account has with the router, and what the vault on chain says of it. */
export type Funds = { readonly router: Balance; readonly paymentLayer: VaultBalance };

type Dependencies = {
  readonly balances: BalanceService;
  readonly vault: { balanceOf(account: Hex): Promise<VaultBalance> };
};

/** Reads the books and the chain side by side. */
export class FundsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The funds of an account. Throws `vault_unavailable` when the chain does not answer in time. */
  async of(account: Hex): Promise<Funds> {
    const [router, paymentLayer] = await Promise.all([
      this.#dependencies.balances.byAccount(account),
      this.#dependencies.vault.balanceOf(account),
    ]);
    return { router, paymentLayer };
  }
}
