import { randomBytes } from "node:crypto";
import { encodeAbiParameters, encodeEventTopics, toHex } from "viem";
import { getAbiItem } from "viem/utils";
import { expect, test } from "vitest";
import { flowAbi } from "../../src/chain/abi/flow.ts";
import type { ChainLog } from "../../src/chain/watcher/log-handler.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { SubmissionsService } from "../../src/storage/submissions/submissions.service.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { newAccount } from "../support/chain/deposits.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const TURN_MS = 50;
const LOGS = 600;
const NODES = 12;

const newHash = (): Hex => toHex(randomBytes(32));

test("a page with many submissions does not block the event loop", async () => {
  const [database, flow] = [await openTestDatabase("server"), newAccount()];
  const service = new SubmissionsService({ queries: database, chainId: 1, flow, watcher: "files" });
  // As often as it is measured at most.
  const pages = [0, 1, 2].map((page) =>
    Array.from({ length: LOGS }, (_, n) => submitLog(flow, page * LOGS + n)),
  );
  const turnMs = await repeatedTurnMs(TURN_MS, () => {
    const logs = pages.shift() ?? [];
    return database.transaction((tx) => service.apply(tx, logs));
  });
  expect(turnMs).toBeLessThan(TURN_MS);
  expect(await service.count({})).toEqual({ rows: (3 - pages.length) * LOGS, isExact: true });
});

const { inputs } = getAbiItem({ abi: flowAbi, name: "Submit" });
const PLAIN = inputs.filter((input) => !("indexed" in input && input.indexed));

function submitLog(flow: Hex, seq: number): ChainLog {
  const nodes = Array.from({ length: NODES }, (_, n) => ({ root: newHash(), height: BigInt(20 - n) }));
  const args = { sender: flow, identity: newHash() };
  return {
    address: flow,
    topics: encodeEventTopics({ abi: flowAbi, eventName: "Submit", args }) as Hex[],
    data: encodeAbiParameters(PLAIN, [
      ...[BigInt(seq), 0n, 1n],
      { length: 5n, tags: "0x" as const, nodes },
    ] as never),
    blockNumber: BigInt(seq),
    blockHash: newHash(),
    transactionHash: newHash(),
    transactionSender: flow,
    logIndex: 0,
  };
}
