import { expect, test } from "vitest";
import { createRpc } from "../../../src/chain/rpc/rpc.client.ts";
import { readPage } from "../../../src/chain/watcher/log-pages.ts";
import { RangeLength } from "../../../src/chain/watcher/range-length.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { startChain, VAULT } from "../../support/chain/chain.ts";
import { newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy } from "../../support/chain/rpc-proxy.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

type Log = { readonly data: string; readonly topics: readonly string[] };
type Call = { readonly method: string; readonly params: readonly unknown[] };

async function logsFrom(url: string, call: Call): Promise<readonly Log[]> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...call });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body });
  return ((await answer.json()) as { result: readonly Log[] }).result;
}

// With 0 blocks near the head, ranges are read; with all of them, block by block.
test.each([0n, 1_000n])(
  "a page ends before its logs take much memory, %i blocks near the head",
  async (near) => {
    const ranges = new RangeLength();
    const [chain, account, other] = [await startChain(), newAccount(), newAccount()];
    await chain.deposit(account, 1n);
    const [{ topics } = { topics: [] }] = await logsFrom(chain.url, {
      method: "eth_getLogs",
      params: [{ address: VAULT, fromBlock: "0x0" }],
    });
    for (let amount = 2n; amount <= 12n; amount++) await chain.deposit(other, amount);
    await chain.mine(60);
    const proxy = await startRpcProxy(chain.url);
    const padding = "00".repeat(2_000_000);
    proxy.judge = async (call) => {
      if (call.method !== "eth_getLogs") return "pass";
      return {
        result: (await logsFrom(chain.url, call)).map((log) => ({ ...log, data: log.data + padding })),
      };
    };
    const log = createLogger("silent");
    const rpc = createRpc({ urls: [proxy.url], network: "devnet", chainId: 16_602, log });
    const selection = { addresses: [VAULT], topics: topics.slice(0, 1).map((topic) => lowerHex(topic)) };
    const head = await chain.height();
    const [amounts, sizes]: [bigint[], number[]] = [[], []];
    for (let after: Parameters<typeof readPage>[2]["after"]; after?.number !== head; ) {
      const from = after ? after.number + 1n : 0n;
      const page = await readPage(rpc, selection, { after, from, head, near, ranges, pageBlocks: 1_000 });
      if (!page) throw new Error("the chain did not move");
      amounts.push(...page.logs.map(({ data }) => BigInt(data.slice(0, 66))));
      sizes.push(page.logs.reduce((sum, { data }) => sum + data.length, 0));
      after = page.end;
    }
    expect(amounts).toEqual(Array.from({ length: 12 }, (_, at) => BigInt(at + 1)));
    // 16 blocks are read at once near the head, whose logs are in memory together.
    expect(Math.max(...sizes)).toBeLessThan(near === 0n ? 26_000_000 : 64_100_000);
  },
);

test("logs are applied in the order of the chain, in whatever order an endpoint returns them", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  for (let amount = 1n; amount <= 5n; amount++) await chain.deposit(account, amount);
  await chain.mine(100);
  const proxy = await startRpcProxy(chain.url);
  proxy.judge = async (call) =>
    call.method === "eth_getLogs" ? { result: (await logsFrom(chain.url, call)).toReversed() } : "pass";
  const { watcher, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 1 });
  watcher.start();
  await scanned(await chain.height());
  const rows = await database.rows<{ amount: string }>(
    "select data->>'amount' as amount from outbox where subject = $1 and data->>'status' = 'seen' order by id",
    [account],
  );
  expect(rows.map(({ amount }) => amount)).toEqual(["1", "2", "3", "4", "5"]);
});
