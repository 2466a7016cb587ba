// @module-tag large
import { expect, test } from "vitest";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { FLOOD, flood, handlesOf, watchAgents } from "../../support/chain/agent-chain.ts";
import { startChain } from "../../support/chain/chain.ts";
import { newAccount } from "../../support/chain/deposits.ts";
import { startRpcProxy, type Verdict } from "../../support/chain/rpc-proxy.ts";
import { openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

const LIMIT = 10_000;

test("10,001 events in one range that the endpoint refuses are all read once, and no block is skipped", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const [{ client }, owner] = [handlesOf(chain.url), newAccount()];
  await flood(client, { count: 5_001, to: owner, base: 0n });
  await flood(client, { count: 5_000, to: owner, base: 1_000_000n });
  await chain.mine(200);
  const proxy = await startRpcProxy(chain.url);
  const refused: number[] = [];
  proxy.judge = async (call): Promise<Verdict> => {
    if (call.method !== "eth_getLogs") return "pass";
    const body = JSON.stringify({ jsonrpc: "2.0", ...call });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(chain.url, { method: "POST", headers, body });
    const { result } = (await answer.json()) as { result: unknown[] };
    if (result.length <= LIMIT) return { result };
    refused.push(result.length);
    return { error: { code: -32005, message: "query returned more than 10000 results" } };
  };
  const { watcher, tokens } = watchAgents(database, { url: proxy.url, address: FLOOD });
  watcher.start();
  const head = await chain.height();
  await until(() => watcher.status().scannedBlock === head);
  expect(refused).toContain(10_001);
  expect(watcher.status()).toMatchObject({ state: "following", lagBlocks: 0n });
  const [counted] = await database.rows<{ rows: number; tokens: number; published: number }>(
    `select count(*)::int as rows, count(distinct token_id)::int as tokens,
       (select count(*)::int from outbox where topic = 'token.transferred') as published from agent_transfer`,
  );
  expect(counted).toEqual({ rows: 10_001, tokens: 10_001, published: 10_001 });
  const last = await tokens.byKeys([{ contract: FLOOD, tokenId: 1_005_000n }]);
  expect(last).toMatchObject([{ owner: lowerHex(owner) }]);
});
