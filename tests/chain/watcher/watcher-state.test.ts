// @module-tag medium
import { expect, test } from "vitest";
import { readStatuses } from "../../../src/chain/watcher/log-watcher.store.ts";
import { WatcherAcceptanceService } from "../../../src/chain/watcher/watcher-acceptance.service.ts";
import type { Database } from "../../../src/db/database.ts";
import { startChain } from "../../support/chain/chain.ts";
import { balanceOf, eventsOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy } from "../../support/chain/rpc-proxy.ts";
import { openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

const CHAIN_ID = 16_602;
const HALTED = "halted_deep_reorg";

async function statusOf(database: Database) {
  return (await readStatuses(database)).get("deposits");
}

/** A chain that has none of the blocks of another one, but for block 0 and 1 if both start in the same second. */
async function startOtherChain() {
  const chain = await startChain();
  await chain.client.setCoinbase({ address: newAccount() });
  await chain.mine(20);
  return chain;
}

/** Watches until this chain, which lacks a credited deposit, has halted the watcher. */
async function haltAt(database: Database, url: string): Promise<void> {
  const { watcher } = watchDeposits(database, { urls: [url], confirmations: 1 });
  watcher.start();
  await until(async () => watcher.status().state === HALTED && (await statusOf(database))?.state === HALTED);
  await watcher.stop();
}

test("an acceptance ends when the old chain returns: the next halt waits for another one", async () => {
  const [chain, other, database] = [await startChain(), await startOtherChain(), await openTestDatabase()];
  const account = newAccount();
  const follow = async () => {
    const { watcher, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 1 });
    watcher.start();
    await scanned(await chain.height());
    await watcher.stop();
  };
  await chain.deposit(account, 7n);
  await chain.mine(1);
  await follow();
  // RPC_URL named another chain, and was corrected after the operator had accepted that chain.
  await haltAt(database, other.url);
  await new WatcherAcceptanceService(database, CHAIN_ID).accept("deposits");
  await chain.mine(1);
  await follow();
  await haltAt(database, other.url);
  expect(await balanceOf(database, account)).toBe(7n);
  expect(await database.rows("select 1 from deposit where orphaned or status <> 'confirmed'")).toEqual([]);
  expect((await eventsOf(database, account)).filter((word) => word === "reverted")).toEqual([]);
});

test("a watcher that reads many blocks replaces the halt that an earlier process recorded, and keeps the last depth", async () => {
  const [chain, other, database] = [await startChain(), await startOtherChain(), await openTestDatabase()];
  const first = watchDeposits(database, { urls: [chain.url], confirmations: 1 });
  first.watcher.start();
  await chain.deposit(newAccount(), 7n);
  await chain.mine(5);
  await first.scanned(await chain.height());
  // Empty blocks of the same miner would be the same blocks again.
  await chain.client.setCoinbase({ address: newAccount() });
  await chain.reorg(3);
  await chain.mine(1);
  await first.scanned(await chain.height());
  await first.watcher.stop();
  await haltAt(database, other.url);
  await chain.mine(300);
  const statuses: ReturnType<typeof statusOf>[] = [];
  const second = watchDeposits(database, {
    urls: [chain.url],
    confirmations: 1,
    pageBlocks: 100,
    committed: () => void statuses.push(statusOf(database)),
  });
  second.watcher.start();
  await second.scanned(await chain.height());
  expect(await statuses[0]).toMatchObject({ state: "backfilling", note: undefined, lastReorgDepth: 3 });
  expect(await statusOf(database)).toMatchObject({ state: "following", lastReorgDepth: 3 });
});

test("a process whose RPC is down does not hide that another one reads the chain", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const working = watchDeposits(database, { urls: [chain.url], confirmations: 1 });
  working.watcher.start();
  await working.scanned(await chain.height());
  const proxy = await startRpcProxy(chain.url);
  proxy.judge = () => "cut";
  const { watcher } = watchDeposits(database, { urls: [proxy.url], confirmations: 1 });
  watcher.start();
  await until(async () => (await statusOf(database))?.state === "rpc_unavailable");
  await chain.mine(1);
  await until(async () => (await statusOf(database))?.state === "following");
});
