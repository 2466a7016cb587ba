import { expect, test } from "vitest";
import { ChainService } from "../../src/chain/chain.service.ts";
import { NETWORKS } from "../../src/chain/networks.ts";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { startChain } from "../support/chain/chain.ts";
import { watchDeposits } from "../support/chain/deposits.ts";
import { startRpcProxy } from "../support/chain/rpc-proxy.ts";
import { openTestDatabase } from "../support/servers/database.ts";

test("the head is read once a second for any number of callers, and a failure is not cached", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const proxy = await startRpcProxy(chain.url);
  let nowMs = 0;
  const clock = { now: () => new Date(), monotonicMs: () => nowMs };
  const rpc = createRpc({
    urls: [proxy.url],
    network: "devnet",
    chainId: 16_602,
    log: createLogger("silent"),
  });
  const service = new ChainService({ rpc, network: NETWORKS.devnet, queries: database, clock });
  const heads = await Promise.all([service.head(), service.head(), service.head()]);
  expect(heads.map(({ number }) => number)).toEqual([1n, 1n, 1n]);
  expect(proxy.calls.map(({ method }) => method)).toEqual(["eth_chainId", "eth_getBlockByNumber"]);
  await chain.mine(1);
  nowMs = 999;
  expect((await service.head()).number).toBe(1n);
  nowMs = 1_000;
  expect((await service.head()).number).toBe(2n);
  proxy.judge = () => ({ error: { code: -32000, message: "secret host" } });
  nowMs = 2_000;
  const refused = expect.objectContaining({
    code: "chain_error",
    message: expect.not.stringContaining("secret"),
  });
  await expect(service.head()).rejects.toEqual(refused);
  proxy.judge = () => "pass";
  expect((await service.head()).number).toBe(2n);
});

test("a block is found by its height, and any process reads a watcher's progress", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const rpc = createRpc({
    urls: [chain.url],
    network: "devnet",
    chainId: 16_602,
    log: createLogger("silent"),
  });
  const clock = { now: () => new Date(), monotonicMs: () => 0 };
  const service = new ChainService({ rpc, network: NETWORKS.devnet, queries: database, clock });
  expect(await service.block(1n)).toMatchObject({ number: 1n, timestamp: expect.any(Date) });
  expect(await service.block(9n)).toBeUndefined();
  // Nodes refuse heights of more than 64 bits as malformed.
  for (const height of [2n ** 63n, 10n ** 22n, 2n ** 256n - 1n])
    expect(await service.block(height)).toBeUndefined();
  expect(await service.watchers()).toEqual(new Map());
  const { watcher, scanned } = watchDeposits(database, { urls: [chain.url] });
  watcher.start();
  await scanned(1n);
  await watcher.stop();
  expect(await service.watchers()).toEqual(new Map([["deposits", watcher.status()]]));
  expect(service.networks().map(({ id }) => id)).toEqual(["devnet", "testnet", "mainnet"]);
});
