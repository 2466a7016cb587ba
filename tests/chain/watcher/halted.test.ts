// @module-tag large
import { createTestClient, http, publicActions } from "viem";
import { expect, test } from "vitest";
import { DEMO_USER } from "../../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../../src/devnet/chain/actors.ts";
import { chat, priceOf } from "../../process/chat.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { balanceOf, newAccount } from "../../support/chain/deposits.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack({ CONFIRMATIONS: "2" });

test("a reorg that reverts credited money halts crediting, and everything else continues", async () => {
  const { app, origin, rpcUrl } = stack();
  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl), cacheTime: 0 }).extend(
    publicActions,
  );
  const deposit = (account: `0x${string}`, amountNeuron: bigint) =>
    depositToVault(rpcUrl, { fromKey: DEMO_USER.privateKey, account, amountNeuron });
  const [lost, late, seeded] = [newAccount(), newAccount(), await seedAccount(app.database, 10_000n)];
  await chain.mine({ blocks: 10 });
  await deposit(lost, 7n);
  await chain.mine({ blocks: 4 });
  await until(async () => expect(await balanceOf(app.database, lost)).toBe(7n));
  await chain.request<Reorg>({ method: "anvil_reorg", params: [5, []] });
  await deposit(late, 9n);
  await chain.mine({ blocks: 6 });
  await until(async () => expect(await states(origin)).toMatchObject({ deposits: "HALTED_DEEP_REORG" }));
  // The files follow to the newest block, and chats are answered and charged.
  await until(async () => expect(await states(origin)).toMatchObject({ files: "FOLLOWING" }));
  expect((await chat(origin, seeded.secret, { max_tokens: 4 })).status).toBe(200);
  expect(await balanceAtRest(app, seeded.account)).toMatchObject({ available: 10_000n - priceOf(4) });
  expect(await balanceOf(app.database, lost)).toBe(7n);
  expect(await balanceOf(app.database, late)).toBe(0n);
});

async function states(origin: string): Promise<Record<string, string>> {
  const { data } = await ask(origin, undefined, "{ network { watchers { name phase } } }");
  const watchers: { name: string; phase: string }[] = data.network.watchers;
  return Object.fromEntries(watchers.map(({ name, phase }) => [name, phase]));
}

type Reorg = { Method: "anvil_reorg"; Parameters: [number, []]; ReturnType: null };
