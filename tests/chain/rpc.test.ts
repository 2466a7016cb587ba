// @module-tag large
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../src/app.ts";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { DaSignersClient } from "../../src/chain/precompiles/da-signers.client.ts";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { RpcEndpoint } from "../../src/chain/rpc/rpc-endpoint.ts";
import { walletParameters } from "../../src/chain/wallet-parameters.ts";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { startChain } from "../support/chain/chain.ts";
import { type RpcProxy, startRpcProxy, type Verdict } from "../support/chain/rpc-proxy.ts";
import { scaled } from "../support/machine.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const CHAIN_ID = 16_602;
const OTHER: Verdict = { result: "0x4115" };

function rpcOver(urls: readonly string[], options: { readonly timeoutMs?: number } = {}) {
  const lines: string[] = [];
  const log = createLogger("debug", { write: (line) => void lines.push(line) });
  return { lines, rpc: createRpc({ urls, network: "devnet", chainId: CHAIN_ID, log, ...options }) };
}

async function twoEndpoints(): Promise<readonly [RpcProxy, RpcProxy]> {
  const chain = await startChain();
  return [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
}

const methods = ({ calls }: RpcProxy) => calls.map(({ method }) => method);
const asOtherChain = ({ method }: { method: string }): Verdict => (method === "eth_chainId" ? OTHER : "pass");

describe("several endpoints", () => {
  test("are checked by their chain id before anything else, and the first one is used", async () => {
    const [first, second] = await twoEndpoints();
    const { rpc } = rpcOver([first.url, second.url]);
    expect(rpc.endpoints().map(({ state }) => state)).toEqual(["unchecked", "unchecked"]);
    await rpc.verifyChain();
    await rpc.head();
    expect([methods(first), methods(second)]).toEqual([
      ["eth_chainId", "eth_getBlockByNumber"],
      ["eth_chainId"],
    ]);
    const ready = { state: "ready", chainId: CHAIN_ID, checkedAt: expect.any(Date) };
    expect(rpc.endpoints()).toEqual([ready, ready]);
  });

  test("one of another chain is never read, at the start or when it changes during an outage", async () => {
    const [first, second] = await twoEndpoints();
    first.judge = asOtherChain;
    const { rpc, lines } = rpcOver([first.url, second.url]);
    await rpc.verifyChain();
    await rpc.head();
    expect(methods(first)).not.toContain("eth_getBlockByNumber");
    expect(rpc.endpoints()[0]).toMatchObject({ state: "wrong_chain", chainId: 16_661 });
    expect(lines.join()).toContain("RPC_URL has chain id 16661, but NETWORK=devnet has 16602");

    second.judge = () => "cut";
    await expect(rpc.head()).rejects.toMatchObject({ code: "chain_error" });
    second.judge = asOtherChain;
    await expect(rpc.head()).rejects.toMatchObject({ code: "chain_error" });
    expect(rpc.endpoints().map(({ state }) => state)).toEqual(["wrong_chain", "wrong_chain"]);
    expect(methods(first)).not.toContain("eth_getBlockByNumber");

    second.judge = () => "pass";
    expect((await rpc.head()).number).toBe(1n);
  });

  test("the next one is used when one fails, which is used again after a check of its chain id", async () => {
    const [first, second] = await twoEndpoints();
    const { rpc } = rpcOver([first.url, second.url]);
    await rpc.verifyChain();
    for (const verdict of ["cut", { text: "<html>busy</html>" }] as const) {
      first.judge = () => verdict;
      expect((await rpc.head()).number).toBe(1n);
      expect(rpc.endpoints()[0]?.state).toBe("unreachable");
      first.judge = () => "pass";
      const before = first.calls.length;
      await until(async () => {
        await rpc.head();
        return rpc.endpoints()[0]?.state === "ready";
      });
      expect(first.calls.slice(before)[0]?.method).toBe("eth_chainId");
    }
  });

  test("one that hangs delays a single call, not those after it", async () => {
    const [first, second] = await twoEndpoints();
    const { rpc } = rpcOver([first.url, second.url], { timeoutMs: 2_000 });
    await rpc.verifyChain();
    first.judge = () => "hang";
    await rpc.head();
    const before = performance.now();
    for (let n = 0; n < 3; n++) await rpc.head();
    expect(performance.now() - before).toBeLessThan(scaled(2_000));
  });

  test("an endpoint's error answer is reported rather than the outage of another", async () => {
    const [first, second] = await twoEndpoints();
    const { rpc } = rpcOver([first.url, second.url]);
    await rpc.verifyChain();
    first.judge = () => ({ error: { code: -32_005, message: "query returns more than 10000 results" } });
    second.judge = () => "cut";
    const asked = rpc.logs({ addresses: [], topics: [], where: { from: 0n, to: 1n } });
    await expect(asked).rejects.toMatchObject({ cause: { code: -32_005 } });
    expect(rpc.endpoints().map(({ state }) => state)).toEqual(["ready", "unreachable"]);
  });

  test("a contract's refusal is the answer, and no other endpoint is called", async () => {
    const [first, second] = await twoEndpoints();
    const { rpc } = rpcOver([first.url, second.url]);
    await rpc.verifyChain();
    first.judge = ({ method }) =>
      method === "eth_call" ? { error: { code: 3, message: "execution reverted: no" } } : "pass";
    await expect(rpc.client.call({ to: `0x${"1".repeat(40)}` })).rejects.toThrow("execution reverted");
    expect(methods(second)).toEqual(["eth_chainId"]);
  });
});

test("a revert without data is the contract's, whatever code the node gives it", async () => {
  const [proxy] = await twoEndpoints();
  const { rpc } = rpcOver([proxy.url]);
  const signers = new DaSignersClient(rpc.client, NETWORKS.testnet);
  const refusals: readonly [Verdict, object][] = [
    [
      { error: { code: -32_000, message: "execution reverted" } },
      { code: "contract_refused", message: "The contract reverted." },
    ],
    [
      { error: { code: -32_015, message: "VM execution error: reverted: no such epoch" } },
      { code: "contract_refused", message: "no such epoch" },
    ],
    [{ error: { code: -32_000, message: "header not found" } }, { code: "chain_error" }],
  ];
  for (const [answer, expected] of refusals) {
    proxy.judge = ({ method }) => (method === "eth_call" ? answer : "pass");
    await expect(signers.epochNumber()).rejects.toMatchObject(expected);
  }
});

describe("a single endpoint", () => {
  test("that hangs costs the first call its timeout, and those after it a moment, until it answers again", async () => {
    const chain = await startChain();
    const proxy = await startRpcProxy(chain.url);
    const { rpc } = rpcOver([proxy.url], { timeoutMs: 3_000 });
    await rpc.verifyChain();
    proxy.judge = () => "hang";
    await expect(rpc.head()).rejects.toMatchObject({ code: "chain_error" });
    expect(rpc.endpoints()[0]?.state).toBe("unreachable");
    const before = performance.now();
    for (let n = 0; n < 3; n++) await expect(rpc.head()).rejects.toMatchObject({ code: "chain_error" });
    // Without a bound each of them would take twice the timeout.
    expect(performance.now() - before).toBeLessThan(scaled(6_000));
    proxy.judge = () => "pass";
    await until(async () => (await rpc.head().catch(() => undefined))?.number === 1n);
  });

  test("that answers with rate limits stays in use: a refusal is not an outage", async () => {
    let refusals = 1;
    const server = createServer(async (request, response) => {
      const body = await new Response(Readable.toWeb(request) as ReadableStream).text();
      if (!body.includes("eth_chainId") && refusals-- > 0)
        return void response.writeHead(429).end("slow down");
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: "0x40da" }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { rpc } = rpcOver([`http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
    await rpc.verifyChain();
    expect(await rpc.client.getBlockNumber()).toBe(16_602n);
    expect([refusals, rpc.endpoints()[0]?.state]).toEqual([-1, "ready"]);
  });

  test("that becomes one of another chain without an outage is noticed within a minute", async () => {
    const [proxy] = await twoEndpoints();
    let nowMs = 0;
    const endpoint = new RpcEndpoint({
      url: proxy.url,
      chainId: CHAIN_ID,
      network: "devnet",
      timeoutMs: 1_000,
      log: createLogger("silent"),
      clock: { now: () => new Date(), monotonicMs: () => nowMs },
    });
    await endpoint.request({ method: "eth_blockNumber" });
    proxy.judge = asOtherChain;
    nowMs = 60_000;
    await expect(endpoint.request({ method: "eth_blockNumber" })).rejects.toMatchObject({
      code: "chain_error",
    });
    expect(methods(proxy)).toEqual(["eth_chainId", "eth_blockNumber", "eth_chainId"]);
  });

  test("that refuses the check of its chain id once a minute by a rate limit stays in use", async () => {
    const [proxy] = await twoEndpoints();
    let nowMs = 0;
    const lines: string[] = [];
    const endpoint = new RpcEndpoint({
      url: proxy.url,
      chainId: CHAIN_ID,
      network: "devnet",
      timeoutMs: 1_000,
      log: createLogger("debug", { write: (line) => void lines.push(line) }),
      clock: { now: () => new Date(), monotonicMs: () => nowMs },
    });
    await endpoint.request({ method: "eth_blockNumber" });
    proxy.judge = () => ({ error: { code: 429, message: "compute units per second exceeded" } });
    nowMs = 60_000;
    await expect(endpoint.request({ method: "eth_blockNumber" })).rejects.toMatchObject({ code: 429 });
    expect([endpoint.status().state, lines]).toEqual(["ready", []]);
    proxy.judge = asOtherChain;
    await expect(endpoint.request({ method: "eth_blockNumber" })).rejects.toMatchObject({
      code: "chain_error",
    });
    expect(endpoint.status().state).toBe("wrong_chain");
  });

  test("of another chain is refused in a line with both ids and no path", async () => {
    const [proxy] = await twoEndpoints();
    proxy.judge = asOtherChain;
    const { rpc, lines } = rpcOver([`${proxy.url}/v2/secret-key`]);
    await expect(rpc.verifyChain()).rejects.toThrow(
      /^RPC_URL has chain id 16661, but NETWORK=devnet has 16602 \(127\.0\.0\.1:\d+\)\.$/,
    );
    expect(lines.join()).not.toContain("secret-key");
  });

  test.each([
    ["nothing", "cut"],
    ["no number", { result: "devnet" }],
    ["a number beyond all chain ids", { result: `0x${"f".repeat(20)}` }],
  ] as const)("that answers %s for its chain id is unavailable", async (_what, verdict) => {
    const [proxy] = await twoEndpoints();
    proxy.judge = () => verdict;
    const { rpc } = rpcOver([proxy.url]);
    await expect(rpc.verifyChain()).rejects.toThrow(/^RPC_URL does not answer: 127\.0\.0\.1:\d+\.$/);
    expect(rpc.endpoints()).toMatchObject([{ state: "unreachable", chainId: undefined }]);
  });
});

test("an RPC_URL with a key in it is called, never shown, and its outage is part of the readiness", async () => {
  const [proxy] = await twoEndpoints();
  const config = readConfig({
    NETWORK: "devnet",
    RPC_URL: `${proxy.url}/v2/secret-key`,
    LOG_LEVEL: "silent",
  });
  const nowhere: Hex = `0x${"1".repeat(40)}`;
  const network = withAddresses(NETWORKS.devnet, {
    contracts: { flow: nowhere, routerVault: nowhere, computeInference: nowhere, computeLedger: nowhere },
  });
  const app = await createApp(config, network, createLogger("silent"), () => openTestDatabase());
  onTestFinished(() => app.close());
  expect((await app.chain.head()).number).toBe(1n);
  const chainPart = async () => (await app.readiness()).parts.chain;
  expect(await chainPart()).toBe("ok");
  const shown = {
    ...app.chain.network(),
    wallet: walletParameters(app.chain.network()),
    endpoints: app.chain.endpoints(),
  };
  const text = JSON.stringify(shown, (_, value) => (typeof value === "bigint" ? String(value) : value));
  expect(text).not.toMatch(/secret-key|127\.0\.0\.1/);
  expect(shown.endpoints).toMatchObject([{ state: "ready" }]);
  for (const [verdict, said] of [
    ["cut", "unreachable"],
    [OTHER, "another chain"],
  ] as const) {
    proxy.judge = () => verdict;
    await expect(app.chain.block(1n)).rejects.toMatchObject({ code: "chain_error" });
    expect([await chainPart(), (await app.readiness()).ready]).toEqual([said, true]);
  }
});
