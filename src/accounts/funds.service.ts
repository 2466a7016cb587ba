import type { VaultBalance } from "../chain/vault.client.ts";
import type { Hex } from "../kernel/text/hex.ts";
import type { Balance, BalanceService } from "./balance.service.ts";

/** What an account has with the router, and what the vault on chain says of it. */
export type Funds = { readonly router: Balance; readonly paymentLayer: VaultBalance };

type Needs = {
  readonly balances: BalanceService;
  readonly vault: { balanceOf(account: Hex): Promise<VaultBalance> };
};

/** Reads the books and the chain side by side. */
export class FundsService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** The funds of an account. Throws `vault_unavailable` when the chain does not answer in time. */
  async of(account: Hex): Promise<Funds> {
    const [router, paymentLayer] = await Promise.all([
      this.#needs.balances.byAccount(account),
      this.#needs.vault.balanceOf(account),
    ]);
    return { router, paymentLayer };
  }
}
