// @module-tag large
import { expect, test } from "vitest";
import { inferenceServingAbi } from "../../src/chain/abi/inference-serving.ts";
import { PROVIDER, ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { registerProvider } from "../../src/devnet/chain/actors.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { balanceAtRest } from "../support/balance.ts";
import { whileUnacknowledged } from "../support/chain/acknowledgement.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();

const row = {
  providerKey: PROVIDER.privateKey,
  model: MODEL,
  inputPrice: INPUT_PRICE,
  outputPrice: OUTPUT_PRICE,
  serviceType: "chatbot",
  verifiability: "TeeML",
  additionalInfo: "{}",
  teeSigner: PROVIDER.address,
} as const;

/** Sends a plain and a streamed request; both must be refused alike, and nothing may be held or charged. */
async function expectRefusal(status: number, code: string): Promise<void> {
  const { app, origin } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  for (const stream of [false, true]) {
    const reply = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
      body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hi" }], stream }),
    });
    const { error } = (await reply.json()) as { error: { code: string } };
    expect([reply.status, error.code]).toEqual([status, code]);
  }
  const balance = await balanceAtRest(app, seeded.account);
  expect(balance).toMatchObject({ total: 1_000_000n, held: 0n });
}

test("an unreachable provider is 502, and nothing is charged", async () => {
  await registerProvider(stack().rpcUrl, { ...row, url: "http://127.0.0.1:9" });
  await stack().app.catalogue.refresh();
  await expectRefusal(502, "provider_error");
  await registerProvider(stack().rpcUrl, { ...row, url: stack().provider.url });
  await stack().app.catalogue.refresh();
});

test("a provider with an unacknowledged signer or an invalid address is not called: 503", async () => {
  const before = stack().provider.requests;
  await whileUnacknowledged(stack(), PROVIDER.address, () => expectRefusal(503, "no_available_provider"));
  await registerProvider(stack().rpcUrl, { ...row, url: "file:///etc/passwd" });
  await stack().app.catalogue.refresh();
  await expectRefusal(503, "no_available_provider");
  expect(stack().provider.requests).toBe(before);
  await registerProvider(stack().rpcUrl, { ...row, url: stack().provider.url });
  await stack().app.catalogue.refresh();
});

test("a credential revoked on chain is renewed when the provider refuses it, and no client notices", async () => {
  const { app, origin, rpcUrl } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  const chat = async () => {
    const reply = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
      body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hi" }] }),
    });
    return reply.status;
  };
  expect(await chat()).toBe(200);
  const wallet = await connectDevnet(rpcUrl, ROUTER_WALLET.privateKey);
  const contract = { address: contractAddresses().inference, abi: inferenceServingAbi } as const;
  const args = [PROVIDER.address] as const;
  await mined(wallet, await wallet.writeContract({ ...contract, functionName: "revokeAllTokens", args }));
  const attempts = async () => {
    expect(await chat()).toBe(200);
    const { rows } = await app.requests.list(seeded.account, { first: 1 });
    return rows[0]?.routing?.attempts.map(({ outcome, reason }) => reason ?? outcome);
  };
  // The provider re-reads the chain only now and then.
  const noticed = await until(async () => {
    const seen = await attempts();
    return seen?.includes("credential") ? seen : false;
  });
  expect(noticed).toEqual(["credential", "answered"]);
  expect(await attempts()).toEqual(["answered"]);
});
