// @module-tag medium
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { startChain } from "../support/chain/chain.ts";
import { type RpcProxy, startRpcProxy } from "../support/chain/rpc-proxy.ts";
import { scaled } from "../support/machine.ts";
import { until } from "../support/until.ts";

const CHAIN_ID = 16_602;

/** A chain behind one or more endpoints with faults, whose calls have a timeout far above the limits of these tests. */
async function chainBehind(count: number) {
  const chain = await startChain();
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(chain.url)));
  const urls = proxies.map(({ url }) => url);
  const log = createLogger("silent");
  const rpc = createRpc({ urls, network: "devnet", chainId: CHAIN_ID, timeoutMs: 600_000, log });
  await rpc.verifyChain();
  return { rpc, proxies };
}

/** Lets a call pass after so many milliseconds. */
function passAfter(delayMs: number): RpcProxy["judge"] {
  return async () => {
    await pause(delayMs);
    return "pass" as const;
  };
}

test("calls fail within seconds while the only endpoint hangs, also those in flight, and work once it answers", async () => {
  const { rpc, proxies } = await chainBehind(1);
  for (const proxy of proxies) proxy.judge = () => "hang";
  const startMs = performance.now();
  const calls = Array.from({ length: 5 }, (_, number) => rpc.block(BigInt(number)));
  for (const result of await Promise.allSettled(calls))
    expect(result).toMatchObject({ status: "rejected", reason: { code: "chain_error" } });
  expect(performance.now() - startMs).toBeLessThan(scaled(6_000));
  expect(rpc.endpoints()).toMatchObject([{ state: "unreachable" }]);
  const laterMs = performance.now();
  await expect(rpc.head()).rejects.toMatchObject({ code: "chain_error" });
  expect(performance.now() - laterMs).toBeLessThan(scaled(1_500));
  for (const proxy of proxies) proxy.judge = () => "pass";
  await until(async () => (await rpc.head().catch(() => undefined))?.number === 1n);
});

test("a hanging endpoint is left for the next one within seconds", async () => {
  const { rpc, proxies } = await chainBehind(2);
  if (proxies[0]) proxies[0].judge = () => "hang";
  const startMs = performance.now();
  expect((await rpc.head()).number).toBe(1n);
  expect(performance.now() - startMs).toBeLessThan(scaled(6_000));
});

test("a slow call is waited for while the endpoint answers others", async () => {
  const { rpc, proxies } = await chainBehind(1);
  const release = Promise.withResolvers<"pass">();
  for (const proxy of proxies)
    proxy.judge = ({ method }) => (method === "eth_getLogs" ? release.promise : "pass");
  const logs = rpc.logs({ addresses: [], topics: [], where: { from: 0n, to: 1n } });
  const probes = () => proxies[0]?.calls.filter(({ method }) => method === "eth_chainId").length ?? 0;
  // Far longer than a hang would last.
  const before = probes();
  await until(() => probes() >= before + 5);
  release.resolve("pass");
  expect(await logs).toEqual([]);
  expect(rpc.endpoints()).toMatchObject([{ state: "ready" }]);
});

test("an endpoint that needs seconds for every call stays in use", async () => {
  const { rpc, proxies } = await chainBehind(1);
  for (const proxy of proxies) proxy.judge = passAfter(4_000);
  // It may be lost once, when it becomes slow, and is then known to be slow.
  await until(async () => (await rpc.head().catch(() => undefined))?.number === 1n, 120_000);
  const heads = await Promise.all([rpc.head(), rpc.head(), rpc.head()]);
  expect(heads.map(({ number }) => number)).toEqual([1n, 1n, 1n]);
  expect(rpc.endpoints()).toMatchObject([{ state: "ready" }]);
});

test("an endpoint that becomes slower with every call stays in use", async () => {
  const { rpc, proxies } = await chainBehind(1);
  const headsAfter = async (delayMs: number) => {
    for (const proxy of proxies) proxy.judge = passAfter(delayMs);
    const heads = await Promise.all([rpc.head(), rpc.head()]);
    expect(heads.map(({ number }) => number)).toEqual([1n, 1n]);
  };
  await headsAfter(1_700);
  await headsAfter(3_400);
  await headsAfter(6_000);
  expect(rpc.endpoints()).toMatchObject([{ state: "ready" }]);
});
