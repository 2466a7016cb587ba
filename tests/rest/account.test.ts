// @module-tag medium
import { parseEther } from "viem";
import { expect, test } from "vitest";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../src/devnet/chain/actors.ts";
import type { Scope } from "../../src/keys/auth/principal.ts";
import { newAccount } from "../support/chain/deposits.ts";
import { INPUT_PRICE, MODEL } from "../support/chain/network.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();

async function managementKey(account: string, ...scopes: Scope[]): Promise<string> {
  const { secret } = await stack().app.managementKeys.create(account, `key ${scopes.join(" ")}`, scopes);
  return secret;
}

function get<T>(path: string, secret?: string) {
  return rest<T>(stack().origin, path, secret);
}

async function chat({ secret }: Seeded): Promise<void> {
  const body = { model: MODEL, messages: [{ role: "user", content: "Hello" }], max_tokens: 3 };
  expect((await rest(stack().origin, "/v1/chat/completions", secret, { body })).status).toBe(200);
}

test("the balance is given in exact decimal strings that add up", async () => {
  const seeded = await seedAccount(stack().app.database, 2n ** 200n);
  const key = await managementKey(seeded.account, "account:read");
  await chat(seeded);
  await stack().app.holds.returnUnused();
  const { rows } = await stack().app.requests.list(seeded.account, { first: 1 });
  const left = String(2n ** 200n - (rows[0]?.cost?.total ?? 0n));
  expect(await get("/v1/account/balance", key)).toMatchObject({
    status: 200,
    body: {
      address: seeded.account,
      deposit_balance: left,
      credit_balance: "0",
      total_balance: left,
      balance: left,
      held_balance: "0",
      available_balance: left,
    },
  });
});

test("the hold of a running request is part of the balance, and not available", async () => {
  const seeded = await seedAccount(stack().app.database, 1_000n);
  await stack().app.holds.hold({
    id: `held-${seeded.keyId}`,
    account: seeded.account,
    keyId: seeded.keyId,
    minimum: 100n,
    maximum: 100n,
    model: MODEL,
    provider: newAccount(),
    serviceType: "chatbot",
    inputPrice: INPUT_PRICE,
    outputPrice: 1n,
    expiresInSeconds: 60,
  });
  await stack().app.holds.returnUnused();
  const { body } = await get("/v1/account/balance", await managementKey(seeded.account, "account:read"));
  expect(body).toMatchObject({ balance: "1000", held_balance: "100", available_balance: "900" });
});

test("the account shows its creation time beside its balance", async () => {
  const seeded = await seedAccount(stack().app.database, 7n);
  const { body } = await get<{ created_at: string }>(
    "/v1/account",
    await managementKey(seeded.account, "account:read"),
  );
  expect(body).toMatchObject({
    object: "account",
    address: seeded.account,
    currency: "0g",
    total_balance: "7",
  });
  expect(Math.abs(Date.parse(body.created_at) - Date.now())).toBeLessThan(60_000);
});

test("the funds show the router's totals beside those of the vault on chain, with the time of reading", async () => {
  const account = newAccount();
  await stack().app.database.rows("insert into account (address) values ($1::text)", [account]);
  const key = await managementKey(account, "account:read");
  await depositToVault(stack().rpcUrl, {
    fromKey: DEPLOYER.privateKey,
    account,
    amountNeuron: parseEther("2"),
  });
  type Funds = { router: { deposit: string }; payment_layer: { balance: string; queried_at: string } };
  const body = await until(async () => {
    const funds = (await get<Funds>("/v1/account/funds", key)).body;
    expect(funds.router.deposit).toBe(String(parseEther("2")));
    expect(funds.payment_layer.balance).toBe(String(parseEther("2")));
    return funds;
  });
  expect(body).toMatchObject({
    address: account,
    currency: "0g",
    total: String(parseEther("2")),
    router: { credit: "0", pending_charge: "0", subtotal: String(parseEther("2")) },
    payment_layer: { shared_across_products: true },
  });
  expect(Math.abs(Date.parse(body.payment_layer.queried_at) - Date.now())).toBeLessThan(60_000);
});

test.each(["/v1/account", "/v1/account/balance", "/v1/account/funds", "/v1/account/usage/stats"])(
  "%s refuses every credential without account:read by name",
  async (path) => {
    const { account, secret } = await seedAccount(stack().app.database, 1n);
    const codeOf = async (given?: string) => {
      const { status, body } = await get<RestFailure>(path, given);
      return [status, body.error.code];
    };
    expect(await codeOf()).toEqual([401, "missing_authorization"]);
    expect(await codeOf(await managementKey(account, "keys:read", "keys:create", "keys:manage"))).toEqual([
      403,
      "insufficient_scope",
    ]);
    const refused = await get<RestFailure>(path, secret);
    expect([refused.status, refused.body.error]).toMatchObject([
      403,
      {
        code: "insufficient_scope",
        message: "This credential is not allowed to access account endpoints.",
      },
    ]);
  },
);
