import { encodeAbiParameters, encodeEventTopics, keccak256, toHex } from "viem";
import { expect, test } from "vitest";
import { agentMarketAbi } from "../../../src/chain/abi/agent-market.ts";
import { MarketLogService } from "../../../src/chain/market/market-log.service.ts";
import type { ChainLog, LogHandler } from "../../../src/chain/watcher/log-handler.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { joinHandlers } from "../../../src/storage/joined-handlers.ts";
import { kvRollback } from "../../../src/storage/kv/kv-rollback.ts";
import { SubmissionsService } from "../../../src/storage/submissions/submissions.service.ts";
import { insertSubmissions } from "../../../src/storage/submissions/submissions.store.ts";
import { newAccount } from "../../support/chain/deposits.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

const CHAIN_ID = 16_602;
const hashOf = (text: string): Hex => keccak256(toHex(text));
const blockOf = (number: bigint) => ({ number, hash: hashOf(`block ${number}`) });
const placeAt = (number: bigint) => ({
  blockNumber: number,
  blockHash: blockOf(number).hash,
  transactionHash: hashOf(`transaction ${number}`),
  logIndex: 0,
});

/** What a handler of rows in the blocks 5 and 9 finds at these heights. */
async function newestAt(handler: LogHandler, queries: Parameters<LogHandler["newestBlock"]>[0]) {
  const heights = [4n, 5n, 8n, 20n];
  return Promise.all(heights.map((height) => handler.newestBlock(queries, height)));
}

test("the handler of files finds the newest block with a submission at or below a height", async () => {
  const [database, flow] = [await openTestDatabase(), newAccount()];
  const submissions = new SubmissionsService({
    queries: database,
    chainId: CHAIN_ID,
    flow,
    watcher: "files",
  });
  const handler = joinHandlers([kvRollback({ chainId: CHAIN_ID, flow }), submissions]);
  const rows = [5n, 9n].map((number) => ({
    ...placeAt(number),
    chainId: CHAIN_ID,
    txSeq: number,
    root: hashOf(`root ${number}`),
    submitter: flow,
    transactionSender: flow,
    identity: hashOf("identity"),
    sizeBytes: 1n,
    startEntryIndex: number,
    sectors: 1n,
    tags: "0x" as const,
    nodes: [],
  }));
  await database.transaction((tx) => insertSubmissions(tx, rows));
  expect(await newestAt(handler, database)).toEqual([undefined, blockOf(5n), blockOf(5n), blockOf(9n)]);
  await database.transaction((tx) => handler.revert(tx, 9n, "reorg"));
  expect(await handler.newestBlock(database, 20n)).toEqual(blockOf(5n));
});

test("the handler of the market finds the newest block with an event at or below a height", async () => {
  const [database, address, token] = [await openTestDatabase(), newAccount(), newAccount()];
  const handler = new MarketLogService({
    chainId: CHAIN_ID,
    contract: { address, token, startBlock: undefined },
  });
  const logs = [5n, 9n].map((number): ChainLog => {
    const args = { oldRate: 1n, newRate: number };
    const topics = encodeEventTopics({ abi: agentMarketAbi, eventName: "FeeRateUpdated" });
    const data = encodeAbiParameters(
      [{ type: "uint256" }, { type: "uint256" }],
      [args.oldRate, args.newRate],
    );
    return { address, topics: topics as Hex[], data, ...placeAt(number) };
  });
  await database.transaction((tx) => handler.apply(tx, logs));
  expect(await newestAt(handler, database)).toEqual([undefined, blockOf(5n), blockOf(5n), blockOf(9n)]);
  await database.transaction((tx) => handler.revert(tx, 9n));
  expect(await handler.newestBlock(database, 20n)).toEqual(blockOf(5n));
});
