// @module-tag medium
import { expect, test } from "vitest";
import { startChain } from "../../support/chain/chain.ts";
import { newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy } from "../../support/chain/rpc-proxy.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

test("an endpoint with a limit on ranges refuses few of them, and its logs are complete", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const proxy = await startRpcProxy(chain.url);
  const MAX_RANGE = 100n;
  const counts = { refused: 0, answered: 0 };
  proxy.judge = ({ method, params: [filter] }) => {
    const { fromBlock, toBlock } = Object(filter) as { fromBlock?: string; toBlock?: string };
    if (method !== "eth_getLogs" || !fromBlock || !toBlock) return "pass";
    const isRefused = BigInt(toBlock) - BigInt(fromBlock) >= MAX_RANGE;
    counts[isRefused ? "refused" : "answered"]++;
    return isRefused ? { error: { code: -32_602, message: "block range is too large" } } : "pass";
  };
  for (let amount = 1n; amount <= 5n; amount++) {
    await chain.deposit(account, amount);
    await chain.mine(500);
  }
  const { watcher, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 1 });
  watcher.start();
  await scanned(await chain.height());
  const rows = await database.rows<{ amount: string }>(
    "select data->>'amount' as amount from outbox where subject = $1 and data->>'status' = 'seen' order by id",
    [account],
  );
  expect(rows.map(({ amount }) => amount)).toEqual(["1", "2", "3", "4", "5"]);
  expect(counts.answered).toBeGreaterThan(25);
  expect(counts.refused).toBeLessThan(counts.answered / 2);
});
