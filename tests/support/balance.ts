import type { Balance } from "../../src/accounts/balance.service.ts";
import type { App } from "../../src/app.ts";

/** The balance of an account once this process has returned what it holds in advance for further requests. */
export async function balanceAtRest(app: Pick<App, "holds" | "balances">, account: string): Promise<Balance> {
  await app.holds.returnUnused();
  return app.balances.byAccount(account);
}
