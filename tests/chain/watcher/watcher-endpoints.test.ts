// @module-tag large
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { readStatuses } from "../../../src/chain/watcher/log-watcher.store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { startChain } from "../../support/chain/chain.ts";
import { balanceOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy, type Verdict } from "../../support/chain/rpc-proxy.ts";
import { scaled } from "../../support/machine.ts";
import { openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

describe("an endpoint that fails", () => {
  test("an endpoint of another chain is reported, and not read", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    const proxy = await startRpcProxy(chain.url);
    proxy.judge = ({ method }) => (method === "eth_chainId" ? { result: "0x4115" } : "pass");
    const { watcher, lines } = watchDeposits(database, { urls: [proxy.url] });
    watcher.start();
    await until(() => watcher.status().state === "rpc_wrong_chain");
    expect(lines.join()).toContain("RPC_URL has chain id 16661, but NETWORK=devnet has 16602");
    expect(watcher.status().scannedBlock).toBeUndefined();
    await watcher.stop();
    const beside = watchDeposits(database, { urls: [proxy.url, chain.url] });
    beside.watcher.start();
    await beside.scanned(1n);
    expect(new Set(proxy.calls.map(({ method }) => method))).toEqual(new Set(["eth_chainId"]));
  });

  test.each([
    ["breaks the connection", "cut"],
    ["never answers", "hang"],
    ["answers garbage", { text: "<html>busy</html>" }],
    ["answers invalid blocks", { result: { number: "0x1" } }],
  ] as const)(
    "%s: the watcher reports it, and continues when the endpoint is back",
    async (_what, verdict) => {
      const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
      const proxy = await startRpcProxy(chain.url);
      const { watcher, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 1 });
      watcher.start();
      await scanned(1n);
      proxy.judge = () => verdict;
      await until(() => watcher.status().state === "rpc_unavailable");
      await chain.deposit(account, 7n);
      await chain.mine(1);
      proxy.judge = () => "pass";
      await scanned(3n);
      expect(await balanceOf(database, account)).toBe(7n);
    },
  );

  test("the next endpoint is used when one is gone", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    const proxy = await startRpcProxy(chain.url);
    proxy.judge = () => "cut";
    const { watcher, scanned } = watchDeposits(database, { urls: [proxy.url, chain.url] });
    watcher.start();
    await scanned(1n);
  });

  test("one that lags behind is waited for: nothing is reverted", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    await chain.deposit(account, 7n);
    const proxy = await startRpcProxy(chain.url);
    const { watcher, list, scanned } = watchDeposits(database, { urls: [proxy.url] });
    watcher.start();
    await scanned(2n);
    const calls = proxy.calls.length;
    proxy.judge = ({ method, params: [block] }) =>
      method === "eth_getBlockByNumber" && block === "latest" ? { params: ["0x1", false] } : "pass";
    await until(() => proxy.calls.length > calls + 10);
    expect(watcher.status()).toMatchObject({ state: "following", scannedBlock: 2n, lastReorgDepth: 0 });
    expect(await list(account)).toMatchObject([{ status: "seen" }]);
  });

  test("one that has lost its newest blocks is reported after a while, and nothing is reverted", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    await chain.deposit(account, 7n);
    await chain.mine(20);
    const proxy = await startRpcProxy(chain.url);
    const { watcher, list, lines, scanned } = watchDeposits(database, {
      urls: [proxy.url],
      confirmations: 50,
      behindAfterMs: 100,
    });
    watcher.start();
    await scanned(22n);
    proxy.judge = ({ method, params: [block] }) => {
      if (method !== "eth_getBlockByNumber") return "pass";
      if (block === "latest") return { params: ["0xc", false] };
      return Number(block) > 12 ? { result: null } : "pass";
    };
    await until(() => watcher.status().state === "rpc_behind");
    expect(lines.join()).toContain("it is 10 blocks behind the blocks already read");
    expect(watcher.status()).toMatchObject({ scannedBlock: 22n, lastReorgDepth: 0 });
    expect(await list(account)).toMatchObject([{ status: "seen" }]);
    proxy.judge = () => "pass";
    await chain.mine(1);
    await scanned(23n);
    expect(watcher.status()).toMatchObject({ state: "following", lastReorgDepth: 0 });
  });

  test("a block that is replaced before its logs are read is not an outage", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const proxy = await startRpcProxy(chain.url);
    const { watcher, lines, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 5 });
    watcher.start();
    await scanned(1n);
    let moved: Promise<unknown> | undefined;
    proxy.judge = async ({ method }): Promise<Verdict> => {
      if (method === "eth_getLogs") moved ??= chain.reorg(1);
      await moved;
      return "pass";
    };
    await chain.deposit(account, 7n);
    await scanned(2n);
    await until(() => moved !== undefined);
    await chain.mine(1);
    await scanned(3n);
    expect(lines.join()).not.toContain("unavailable");
    expect(await balanceOf(database, account)).toBe(0n);
  });

  test("one that lags far behind is not a reorg either", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    await chain.mine(150);
    const proxy = await startRpcProxy(chain.url);
    const { watcher, lines, scanned } = watchDeposits(database, { urls: [proxy.url], behindAfterMs: 0 });
    watcher.start();
    await scanned(151n);
    proxy.judge = ({ method, params: [block] }) =>
      method === "eth_getBlockByNumber" && block === "latest" ? { params: ["0x1", false] } : "pass";
    await until(() => watcher.status().state === "rpc_behind");
    expect(lines.join()).toContain("150 blocks behind");
    proxy.judge = () => "pass";
    await until(() => watcher.status().state === "following");
  });

  test("one that lags to a block that was read within a long range is not a reorg: nothing is reverted", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const proxy = await startRpcProxy(chain.url);
    // More blocks may be rolled back than are read one by one.
    const options = { urls: [proxy.url], reorgBlocks: 1_000, behindAfterMs: 0 };
    const before = watchDeposits(database, options);
    before.watcher.start();
    await before.scanned(1n);
    await before.watcher.stop();
    // Most of the blocks are read in one range, of which only the last block is stored.
    await chain.mine(998);
    await chain.deposit(account, 7n);
    const { watcher, list, scanned } = watchDeposits(database, options);
    watcher.start();
    await scanned(1_000n);
    proxy.judge = ({ method, params: [block] }) =>
      method === "eth_getBlockByNumber" && block === "latest" ? { params: ["0x1f4", false] } : "pass";
    const calls = proxy.calls.length;
    await until(() => proxy.calls.length > calls + 10);
    expect(watcher.status()).toMatchObject({ state: "rpc_behind", scannedBlock: 1_000n, lastReorgDepth: 0 });
    expect(await list(account)).toMatchObject([{ amount: 7n, status: "seen" }]);
  });

  test("one that lags far behind does not replace one that refuses a long range: no log is skipped", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    await chain.mine(10);
    await chain.deposit(account, 7n);
    await chain.mine(150);
    const [limited, lagging] = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
    limited.judge = ({ method, params: [filter] }) => {
      const { fromBlock = "0x0", toBlock = "0x0" } = (filter ?? {}) as {
        fromBlock?: string;
        toBlock?: string;
      };
      const isLong = method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) >= 30;
      return isLong ? { error: { code: -32005, message: "query exceeds the block range limit" } } : "pass";
    };
    // It has 5 blocks, and like geth it returns the logs of those that it has.
    lagging.judge = ({ method, params: [block] }) => {
      if (method === "eth_getLogs") return { result: [] };
      if (method !== "eth_getBlockByNumber") return "pass";
      if (block === "latest") return { params: ["0x5", false] };
      return Number(block) > 5 ? { result: null } : "pass";
    };
    const { list, watcher, scanned } = watchDeposits(database, { urls: [limited.url, lagging.url] });
    watcher.start();
    await scanned(await chain.height());
    expect(lagging.calls.some(({ method }) => method === "eth_getLogs")).toBe(true);
    expect(await list(account)).toMatchObject([{ amount: 7n, status: "confirmed" }]);
    expect(await balanceOf(database, account)).toBe(7n);
  });

  test("backends behind one URL differ: logs count only from one that has the last block of the range", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    await chain.mine(10);
    await chain.deposit(account, 7n);
    await chain.mine(150);
    const [current, lagging] = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
    lagging.judge = ({ method, params: [block] }) => {
      if (method === "eth_getLogs") return { result: [] };
      return method === "eth_getBlockByNumber" && Number(block) > 5 ? { result: null } : "pass";
    };
    const turns = { ranges: 0 };
    const balancer = await startBalancer((body) => {
      if (!/"fromBlock"/.test(body)) return current.url;
      return ++turns.ranges % 3 === 0 ? current.url : lagging.url;
    });
    const { list, watcher, scanned } = watchDeposits(database, { urls: [balancer] });
    watcher.start();
    await scanned(await chain.height());
    expect(turns.ranges).toBeGreaterThan(2);
    expect(await list(account)).toMatchObject([{ amount: 7n, status: "confirmed" }]);
  });

  test("backends behind one URL differ: one that lacks blocks that were read shows no reorg", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const [current, lagging] = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
    lagging.judge = ({ method, params: [block] }) =>
      method === "eth_getBlockByNumber" && Number(block) > 3 ? { result: null } : "pass";
    const turn = { lags: false };
    const balancer = await startBalancer((body) =>
      turn.lags && !/"latest"/.test(body) ? lagging.url : current.url,
    );
    const options = { urls: [balancer], confirmations: 1, behindAfterMs: 0 };
    const { list, watcher, scanned, lines } = watchDeposits(database, options);
    await chain.mine(5);
    await chain.deposit(account, 7n);
    await chain.mine(3);
    watcher.start();
    const height = await chain.height();
    await scanned(height);
    expect(await list(account)).toMatchObject([{ amount: 7n, status: "confirmed" }]);
    turn.lags = true;
    await chain.mine(4);
    await until(() => watcher.status().state === "rpc_behind");
    expect(lines.join()).toContain(`it lacks block ${height}`);
    expect(watcher.status()).toMatchObject({ scannedBlock: height, lastReorgDepth: 0 });
    turn.lags = false;
    await scanned(height + 4n);
    expect(watcher.status()).toMatchObject({ lastReorgDepth: 0 });
    expect(lines.join()).not.toMatch(/HALTED|reorg was handled/);
  });

  test.each([
    ["far below the head", 200],
    ["near the head", 5],
  ])("one that lacks an old block %s is reported, and read again once it has it", async (_where, above) => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    await chain.mine(above);
    const proxy = await startRpcProxy(chain.url);
    proxy.judge = ({ method, params: [block] }) =>
      method === "eth_getBlockByNumber" && block === "0x0" ? { result: null } : "pass";
    const { watcher, lines, scanned } = watchDeposits(database, { urls: [proxy.url], behindAfterMs: 100 });
    const height = await chain.height();
    watcher.start();
    await until(async () => (await readStatuses(database)).get("deposits")?.state === "rpc_behind");
    expect(lines.join()).toContain("it lacks block 0, or a later one");
    expect(watcher.status()).toMatchObject({ scannedBlock: undefined, headBlock: height });
    proxy.judge = () => "pass";
    await scanned(height);
    expect(watcher.status()).toMatchObject({ state: "following", lastReorgDepth: 0 });
  });

  test("one that takes no batches is read call by call", async () => {
    const [chain, account] = [await startChain(), newAccount()];
    await chain.deposit(account, 7n);
    await chain.mine(150);
    for (const refusal of [
      { status: 200, body: NO_BATCH },
      { status: 400, body: "" },
    ] as const) {
      const database = await openTestDatabase();
      const single = await startBalancer((body) => (body.startsWith("[") ? refusal : chain.url));
      const { watcher, scanned } = watchDeposits(database, { urls: [single] });
      watcher.start();
      await scanned(await chain.height());
      expect(await balanceOf(database, account)).toBe(7n);
    }
  });

  test("one that is stuck but answers is replaced by one with newer blocks, and reported if there is none", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const [stuck, other] = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
    const options = { maxHeadAgeMs: 60_000, confirmations: 1 };
    const fresh = watchDeposits(database, { urls: [stuck.url, other.url], ...options });
    fresh.watcher.start();
    await fresh.scanned(1n);
    await fresh.watcher.stop();
    expect(fresh.lines.join()).not.toContain("lacks new blocks");
    // An hour passes before the chain goes on.
    const later = { ...systemClock, now: () => new Date(Date.now() + 3_600_000) };
    stuck.judge = ({ method, params: [block] }) => {
      if (method !== "eth_getBlockByNumber") return "pass";
      if (block === "latest") return { params: ["0x1", false] };
      return Number(block) > 1 ? { result: null } : "pass";
    };
    const alone = watchDeposits(database, { urls: [stuck.url], ...options, clock: later });
    alone.watcher.start();
    await until(() => alone.watcher.status().state === "rpc_behind");
    expect(alone.lines.join()).toMatch(/its newest block is 3[56]\d\d s old/);
    await until(async () => (await readStatuses(database)).get("deposits")?.state === "rpc_behind");
    await alone.watcher.stop();
    await chain.client.setNextBlockTimestamp({ timestamp: BigInt(Math.floor(Date.now() / 1_000) + 3_600) });
    await chain.deposit(account, 7n);
    await chain.mine(2);
    const both = watchDeposits(database, { urls: [stuck.url, other.url], ...options, clock: later });
    both.watcher.start();
    await both.scanned(4n);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(both.lines.join()).toContain("an RPC endpoint lacks new blocks");
  });

  test("a watcher stops at once even while the chain does not answer", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase()];
    const proxy = await startRpcProxy(chain.url);
    proxy.judge = () => "hang";
    const { watcher } = watchDeposits(database, { urls: [proxy.url] });
    watcher.start();
    await until(() => proxy.calls.length > 0);
    const before = performance.now();
    await watcher.stop();
    expect(performance.now() - before).toBeLessThan(scaled(2_000));
  });
});

const NO_BATCH = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}';

/** An endpoint that sends each request to the URL that is chosen for its body, or answers it. Ends with the test. */
async function startBalancer(
  choose: (body: string) => string | { readonly status: number; readonly body: string },
): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const chosen = choose(body);
    const headers = { "content-type": "application/json" };
    if (typeof chosen !== "string") return void response.writeHead(chosen.status, headers).end(chosen.body);
    const reply = await fetch(chosen, { method: "POST", headers, body }).catch(() => undefined);
    if (!reply) return void response.destroy();
    response.writeHead(reply.status, headers).end(await reply.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
