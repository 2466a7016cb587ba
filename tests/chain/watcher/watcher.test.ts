// @module-tag large
import { describe, expect, test } from "vitest";
import { readStatuses } from "../../../src/chain/watcher/log-watcher.store.ts";
import { startChain } from "../../support/chain/chain.ts";
import { balanceOf, eventsOf, faultsOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy, type Verdict } from "../../support/chain/rpc-proxy.ts";
import { describeDatabases, openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

describeDatabases("the watcher's position", (kind) => {
  test("a restarted watcher continues at its cursor, through a reorg meanwhile", async () => {
    const [chain, database, lost, kept] = [
      await startChain(),
      await openTestDatabase(kind),
      newAccount(),
      newAccount(),
    ];
    const first = watchDeposits(database, { urls: [chain.url], confirmations: 3 });
    first.watcher.start();
    await chain.deposit(lost, 5n);
    await chain.mine(2);
    await first.scanned(4n);
    await first.watcher.stop();
    await chain.reorg(3);
    await chain.deposit(kept, 7n);
    await chain.mine(10);
    const second = watchDeposits(database, { urls: [chain.url], confirmations: 3 });
    second.watcher.start();
    await second.scanned(15n);
    expect(second.watcher.status()).toMatchObject({ lastReorgDepth: 3, lagBlocks: 0n });
    expect(await eventsOf(database, lost)).toEqual(["seen", "reverted"]);
    expect(await balanceOf(database, lost)).toBe(0n);
    expect(await balanceOf(database, kept)).toBe(7n);
    expect(await faultsOf(database)).toEqual([]);
  });

  test("of two watchers on one cursor, one writes: nothing is credited twice", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(kind), newAccount()];
    const pair = [1, 2].map(() =>
      watchDeposits(database, { urls: [chain.url], confirmations: 2, pollMs: 1 }),
    );
    for (const { watcher } of pair) watcher.start();
    for (let amount = 1n; amount <= 20n; amount++) await chain.deposit(account, amount);
    await chain.mine(2);
    for (const { scanned } of pair) await scanned(23n);
    expect(await balanceOf(database, account)).toBe(210n);
    expect((await eventsOf(database, account)).filter((word) => word === "confirmed")).toHaveLength(20);
    expect(await faultsOf(database)).toEqual([]);
  });
});

test("a log that does not fit the configured event is not skipped: the watcher stays before it", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const event = "event Deposited(address account, uint256 amount)";
  const wrong = watchDeposits(database, { urls: [chain.url], confirmations: 0, event });
  wrong.watcher.start();
  await wrong.scanned(1n);
  await chain.deposit(account, 7n);
  await until(() => wrong.lines.some((line) => line.includes("following the chain failed")));
  await until(() => wrong.watcher.status().state === "failing");
  await chain.mine(3);
  // The chain goes on, so that the watcher lags, also for other processes.
  await until(() => wrong.watcher.status().lagBlocks === 4n);
  expect(wrong.watcher.status()).toMatchObject({ state: "failing", scannedBlock: 1n });
  await until(async () => (await readStatuses(database)).get("deposits")?.lagBlocks === 4n);
  await wrong.watcher.stop();
  const right = watchDeposits(database, { urls: [chain.url], confirmations: 0 });
  right.watcher.start();
  await right.scanned(5n);
  expect(await balanceOf(database, account)).toBe(7n);
});

describe("far behind the head", () => {
  test("pages are halved for an endpoint that refuses long ranges or many logs, and no block is skipped", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    for (let turn = 0; turn < 5; turn++) {
      await chain.deposit(account, 1n);
      await chain.deposit(account, 1n);
      await chain.mine(400);
    }
    const proxy = await startRpcProxy(chain.url);
    // By their first blocks: a page is read again if a query takes longer than a second.
    const ranges = new Map<string, bigint>();
    proxy.judge = ({ method, params: [filter] }) => {
      const { fromBlock, toBlock } = (filter ?? {}) as { fromBlock?: string; toBlock?: string };
      if (method !== "eth_getLogs" || !fromBlock || !toBlock) return "pass";
      const length = BigInt(toBlock) - BigInt(fromBlock) + 1n;
      if (length > 100n)
        return { error: { code: -32005, message: "query returned more than 10000 results" } };
      ranges.set(fromBlock, length);
      return "pass";
    };
    const { watcher, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 5 });
    watcher.start();
    await scanned(2011n);
    expect(await balanceOf(database, account)).toBe(10n);
    // Block by block only near the head: within the confirmations and 64.
    expect([...ranges.values()].reduce((sum, length) => sum + length, 0n)).toBe(2012n - 69n);
    expect(await faultsOf(database)).toEqual([]);
  });

  test("pages are halved for logs of more bytes than are accepted at once, and the endpoint stays in use", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    await chain.deposit(account, 7n);
    await chain.mine(200);
    const proxy = await startRpcProxy(chain.url);
    const lengths: number[] = [];
    proxy.judge = ({ method, params: [filter] }) => {
      const { fromBlock, toBlock } = (filter ?? {}) as { fromBlock?: string; toBlock?: string };
      if (method !== "eth_getLogs" || !fromBlock || !toBlock) return "pass";
      lengths.push(Number(toBlock) - Number(fromBlock) + 1);
      return Number(toBlock) - Number(fromBlock) >= 50 ? { text: " ".repeat(11_000_000) } : "pass";
    };
    const { watcher, scanned, lines } = watchDeposits(database, { urls: [proxy.url], confirmations: 5 });
    watcher.start();
    await scanned(202n);
    expect(Math.max(...lengths)).toBeGreaterThan(50);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(lines.join()).not.toContain("does not answer");
  });

  // A few blocks are read one by one; of many, the older ones in one range.
  test.each([8, 200])("a chain of %i blocks that changes while it is read is read again", async (blocks) => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const { raw } = await chain.deposit(account, 7n);
    await chain.mine(blocks);
    const proxy = await startRpcProxy(chain.url);
    let moved: Promise<unknown> | undefined;
    proxy.judge = async ({ method }): Promise<Verdict> => {
      if (method === "eth_getLogs") moved ??= chain.reorg(blocks + 1, [[raw, 3]]);
      await moved;
      return "pass";
    };
    const { watcher, list, scanned } = watchDeposits(database, { urls: [proxy.url] });
    watcher.start();
    await until(() => moved !== undefined);
    await moved;
    await chain.mine(10);
    await scanned(BigInt(blocks + 12));
    expect(await list(account)).toMatchObject([{ amount: 7n, status: "confirmed", blockNumber: 5n }]);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(await faultsOf(database)).toEqual([]);
  });
});

describe("a chain that differs from what was read", () => {
  test("a reorg that reverts a credited deposit halts the watcher with an error log, and nothing is credited", async () => {
    const [chain, database, account, later] = [
      await startChain(),
      await openTestDatabase(),
      newAccount(),
      newAccount(),
    ];
    const { watcher, list, lines, scanned } = watchDeposits(database, {
      urls: [chain.url],
      confirmations: 1,
    });
    watcher.start();
    await chain.deposit(account, 7n);
    await chain.mine(3);
    await scanned(5n);
    await chain.reorg(4);
    await chain.deposit(later, 9n);
    await chain.mine(5);
    // It checks again, and its lag grows with the chain, also for other processes.
    await until(async () => {
      watcher.poke();
      const { state, lagBlocks } = watcher.status();
      const stored = (await readStatuses(database)).get("deposits");
      return state === "halted_deep_reorg" && lagBlocks === 6n && stored?.lagBlocks === 6n;
    });
    expect(lines.filter((line) => line.includes("HALTED"))).toHaveLength(1);
    expect(await list(account)).toMatchObject([{ status: "confirmed" }]);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(await list(later)).toEqual([]);
    expect(await faultsOf(database)).toEqual([]);
  });

  test("a reorg deeper than the remembered blocks halts the watcher", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    await chain.mine(150);
    const { watcher, lines, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 0 });
    watcher.start();
    await scanned(151n);
    await chain.reorg(100);
    await until(() => watcher.status().state === "halted_deep_reorg");
    expect(lines.join()).toContain("the chain differs below block 87");
  });

  test("a development chain that was recreated halts the watcher, or is read from its start where that is allowed", async () => {
    const [chain, database, account, other] = [
      await startChain(),
      await openTestDatabase(),
      newAccount(),
      newAccount(),
    ];
    const { watcher, lines, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 1 });
    watcher.start();
    await chain.deposit(account, 7n);
    await chain.mine(90);
    await scanned(92n);
    const genesis = await chain.client.getBlock({ blockNumber: 0n });
    await chain.stop();
    await until(() => watcher.status().state === "rpc_unavailable");
    // Chains that begin within one second have the same block 0.
    await until(() => Date.now() >= Number(genesis.timestamp + 1n) * 1_000);
    const anew = await startChain({ port: chain.port });
    await anew.deposit(other, 9n);
    await anew.mine(1);
    await until(() => watcher.status().state === "halted_deep_reorg");
    expect(lines.join()).toContain("a different block 0");
    await watcher.stop();
    const allowed = watchDeposits(database, { urls: [anew.url], confirmations: 1, resetOnNewGenesis: true });
    allowed.watcher.start();
    await allowed.scanned(3n);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(await balanceOf(database, other)).toBe(9n);
    expect(await faultsOf(database)).toEqual([]);
  });
});
