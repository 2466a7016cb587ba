import { z } from "zod";
import type { Balance } from "../../accounts/balance.service.ts";
import { lowerHex } from "../../kernel/text/hex.ts";
import { defineRoute, json } from "../route.ts";
import { address, neuron, timestamp } from "../wire.ts";

/** The currency of amounts: neuron, 10^-18 of the network's token (facts 1.3). */
export const CURRENCY = "0g";

const balance = {
  address,
  deposit_balance: neuron,
  credit_balance: neuron,
  total_balance: neuron,
  balance: neuron,
  held_balance: neuron,
  available_balance: neuron,
};

/** GET /v1/account (facts 1.1): the account with its balance. */
export const getAccount = defineRoute({
  method: "GET",
  url: "/v1/account",
  summary: "Retrieve the account",
  access: "account.read",
  answer: {
    json: z.strictObject({
      object: z.literal("account"),
      created_at: timestamp.nullable(),
      currency: z.literal(CURRENCY),
      ...balance,
    }),
  },
  async handle(app, { account }) {
    const [balance, openedAt] = await Promise.all([
      app.balances.byAccount(account),
      app.balances.openedAt(account),
    ]);
    const created_at = openedAt?.toISOString() ?? null;
    return json({ object: "account", created_at, currency: CURRENCY, ...view(account, balance) });
  },
});

/** GET /v1/account/balance (SPEC 4.1, facts 1.3): decimal strings of neuron, and the amount available now. */
export const getBalance = defineRoute({
  method: "GET",
  url: "/v1/account/balance",
  summary: "Retrieve the balance",
  access: "balance.read",
  answer: { json: z.strictObject(balance) },
  async handle(app, { account }) {
    return json(view(account, await app.balances.byAccount(account)));
  },
});

/** GET /v1/account/funds (facts 1.3): the balance, and that of the vault on chain, read within 3 s. */
export const getFunds = defineRoute({
  method: "GET",
  url: "/v1/account/funds",
  summary: "Retrieve the funds, including the vault on chain",
  access: "balance.read",
  answer: {
    json: z.strictObject({
      address,
      currency: z.literal(CURRENCY),
      total: neuron,
      router: z.strictObject({ deposit: neuron, credit: neuron, pending_charge: neuron, subtotal: neuron }),
      payment_layer: z.strictObject({
        balance: neuron,
        queried_at: timestamp,
        shared_across_products: z.literal(true),
      }),
    }),
  },
  async handle(app, { account }) {
    const { router, paymentLayer } = await app.funds.of(lowerHex(account));
    return json({
      address: account,
      currency: CURRENCY,
      total: String(router.available),
      router: {
        deposit: String(router.deposit),
        credit: String(router.credit),
        pending_charge: String(router.held),
        subtotal: String(router.available),
      },
      payment_layer: {
        balance: String(paymentLayer.balance),
        queried_at: paymentLayer.queriedAt.toISOString(),
        shared_across_products: true,
      },
    });
  },
});

function view(address: string, balance: Balance) {
  return {
    address,
    deposit_balance: String(balance.deposit),
    credit_balance: String(balance.credit),
    total_balance: String(balance.total),
    balance: String(balance.total),
    held_balance: String(balance.held),
    available_balance: String(balance.available),
  };
}
