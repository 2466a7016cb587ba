// @module-tag medium
import { describe, expect, test } from "vitest";
import { readMarks, readStatuses } from "../../../src/chain/watcher/log-watcher.store.ts";
import { WatcherAcceptanceService } from "../../../src/chain/watcher/watcher-acceptance.service.ts";
import type { Database } from "../../../src/db/database.ts";
import { FLOOD, flood, handlesOf, watchAgents } from "../../support/chain/agent-chain.ts";
import { startChain } from "../../support/chain/chain.ts";
import { balanceOf, eventsOf, faultsOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

const CHAIN_ID = 16_602;
const DEPTH = 30;

/** Accepts the reorg that halts this watcher. */
async function accept(database: Database, name: string): Promise<void> {
  await until(async () => (await readStatuses(database)).get(name)?.state === "halted_deep_reorg");
  await new WatcherAcceptanceService(database, CHAIN_ID).accept(name);
}

/** Leaves the blocks that earlier versions stored: the newest ones, and block 0. */
async function forgetOlderBlocks(database: Database, below: bigint): Promise<void> {
  await database.rows("delete from watcher_block where block_number > 0 and block_number < $1::bigint", [
    below.toString(),
  ]);
}

describe.each([
  ["with the blocks that this version stores", false],
  ["with the blocks that earlier versions stored", true],
])("an accepted reorg beyond the stored blocks, %s", (_how, isOlder) => {
  test("reverts and publishes only what is gone from the chain", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    const [{ client }, owner] = [handlesOf(chain.url), newAccount()];
    const { watcher, caughtUp } = watchAgents(database, { url: chain.url, address: FLOOD, reorgBlocks: 5 });
    watcher.start();
    await flood(client, { count: 3, to: owner, base: 0n });
    await chain.mine(60);
    await flood(client, { count: 2, to: owner, base: 10n });
    await chain.mine(4);
    await flood(client, { count: 2, to: owner, base: 20n });
    await chain.mine(DEPTH - 3);
    await caughtUp();
    const height = await chain.height();
    if (isOlder) await forgetOlderBlocks(database, height - 5n);
    const transferred = () =>
      database.rows<{ token: string; removed: boolean }>(
        `select data->>'tokenId' as token, (data->>'removed')::boolean as removed from outbox
         where topic = 'token.transferred' order by id`,
      );
    const before = await transferred();
    expect(before).toHaveLength(7);
    const history = () =>
      database.rows<{ token: string; seen: unknown; stands: boolean }>(
        "select token_id::text as token, seen_at::text as seen, removed_at is null as stands from agent_event order by seq",
      );
    const seen = await history();
    await chain.reorg(DEPTH);
    await chain.mine(3);
    await accept(database, watcher.name);
    await caughtUp();
    const gone = ["21", "22"].map((token) => ({ token, removed: true }));
    expect((await transferred()).slice(before.length)).toEqual(gone);
    expect(await history()).toEqual([
      ...seen.slice(0, 5),
      ...seen.slice(5).map((row) => ({ ...row, stands: false })),
    ]);
    // What is between the newest mint that stands and the fork is read again, and no more.
    expect(watcher.status().lastReorgDepth).toBeLessThanOrEqual(DEPTH + 5);
  });

  test("leaves credited deposits of common blocks as they are", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    const [stays, gone] = [newAccount(), newAccount()];
    const { watcher, list, scanned } = watchDeposits(database, {
      urls: [chain.url],
      confirmations: 1,
      reorgBlocks: 5,
    });
    watcher.start();
    await chain.deposit(stays, 7n);
    await chain.mine(50);
    await chain.deposit(gone, 9n);
    await chain.mine(DEPTH - 2);
    await scanned(await chain.height());
    if (isOlder) await forgetOlderBlocks(database, (await chain.height()) - 6n);
    const [before] = await list(stays);
    const [events, ofGone] = [await eventsOf(database, stays), await eventsOf(database, gone)];
    await chain.reorg(DEPTH);
    await chain.mine(3);
    await accept(database, "deposits");
    watcher.poke();
    await scanned(await chain.height());
    expect(await list(stays)).toEqual([{ ...before, confirmations: expect.any(Number) }]);
    expect(await eventsOf(database, stays)).toEqual(events);
    // A credit is not reversed, and not published again.
    expect(await eventsOf(database, gone)).toEqual(ofGone);
    expect(await Promise.all([stays, gone].map((account) => balanceOf(database, account)))).toEqual([7n, 9n]);
    const orphans = await database.rows("select account from deposit where orphaned");
    expect(orphans).toEqual([{ account: gone }]);
    expect(await faultsOf(database)).toEqual([]);
  });
});

test("a watcher without a log reads at most half as many blocks again as the reorg is deep", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const { watcher, scanned } = watchDeposits(database, {
    urls: [chain.url],
    confirmations: 0,
    reorgBlocks: 5,
    pageBlocks: 2,
  });
  watcher.start();
  await chain.mine(200);
  await scanned(await chain.height());
  await chain.mine(10);
  const height = await chain.height();
  await scanned(height);
  const marks = await readMarks(database, "deposits", 0n, height);
  expect(marks.length).toBeLessThan(80);
  for (const depth of [20, 90]) {
    // Empty blocks of the same miner would be the same blocks again.
    await chain.client.setCoinbase({ address: newAccount() });
    await chain.reorg(depth);
    await chain.mine(1);
    await accept(database, "deposits");
    watcher.poke();
    await scanned(await chain.height());
    expect(watcher.status().lastReorgDepth).toBeGreaterThanOrEqual(depth);
    expect(watcher.status().lastReorgDepth).toBeLessThanOrEqual(1.5 * depth + 5);
  }
});
