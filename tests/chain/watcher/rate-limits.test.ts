import { expect, test } from "vitest";
import { startChain } from "../../support/chain/chain.ts";
import { balanceOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy } from "../../support/chain/rpc-proxy.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

const BUSY = { error: { code: 429, message: "compute units per second exceeded" } };

// A few blocks are read one by one; of many, the older ones in ranges.
test.each([
  { blocks: 60, longestRange: 1_000 },
  { blocks: 600, longestRange: 10 },
])(
  "an endpoint that allows fewer calls than a page of $blocks blocks takes is read page by page to the head",
  async ({ blocks, longestRange }) => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    await chain.deposit(account, 7n);
    await chain.mine(blocks);
    const proxy = await startRpcProxy(chain.url);
    let left = 0;
    proxy.judge = ({ method, params: [filter] }) => {
      // The watcher asks for it after each pause, in which the endpoint forgets the calls before.
      if (method === "eth_chainId") left = 40;
      if (left-- <= 0) return BUSY;
      const { fromBlock = "0x0", toBlock = "0x0" } = Object(filter) as {
        fromBlock?: string;
        toBlock?: string;
      };
      const isLong = method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) >= longestRange;
      return isLong ? { error: { code: -32_005, message: "query exceeds the block range limit" } } : "pass";
    };
    const { watcher, scanned } = watchDeposits(database, { urls: [proxy.url] });
    watcher.start();
    await scanned(await chain.height());
    expect(await balanceOf(database, account)).toBe(7n);
  },
);
