// @module-tag large
import { randomInt } from "node:crypto";
import { type Log, parseEventLogs } from "viem";
import { describe, expect, test } from "vitest";
import { vaultAbi } from "../../../src/chain/abi/vault.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { type SignedDeposit, startChain, VAULT } from "../../support/chain/chain.ts";
import { balanceOf, eventsOf, faultsOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { startRpcProxy } from "../../support/chain/rpc-proxy.ts";
import { type DatabaseKind, describeDatabases, openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

/** Confirmations after which a deposit is credited in these tests. */
const N = 5;
const AMOUNTS = [7n, 9n, 11n] as const;

/** A chain with three deposits of three senders in the first of its `depth` newest blocks, all read. */
async function threeDeposits(kind: DatabaseKind, depth: number) {
  const [chain, database] = [await startChain(), await openTestDatabase(kind)];
  const accounts = [newAccount(), newAccount(), newAccount()] as const;
  const senders = await chain.senders(AMOUNTS.length);
  const watched = watchDeposits(database, { urls: [chain.url], confirmations: N });
  watched.watcher.start();
  await chain.client.setAutomine(false);
  const sent: SignedDeposit[] = [];
  for (const [n, from] of senders.entries())
    sent.push(await chain.send(accounts[n] ?? "0x", AMOUNTS[n] ?? 0n, { from }));
  await chain.mine(1);
  await chain.client.setAutomine(true);
  await chain.mine(depth - 1);
  const head = await chain.height();
  await watched.scanned(head);
  const raws = sent.map(({ raw }) => raw) as [Hex, Hex, Hex];
  return { chain, database, accounts, raws, head, ...watched };
}

describeDatabases(`reorgs with ${N} confirmations`, (kind) => {
  test.each([1, 3, N - 1])(
    "of %i blocks: dropped deposits are reverted, moved ones are credited once, in their new place",
    async (depth) => {
      const { chain, database, accounts, raws, head, list, scanned, watcher } = await threeDeposits(
        kind,
        depth,
      );
      const [stays, moves, drops] = accounts;
      // The first two swap places, within one block where there is only one; the third is dropped.
      await chain.reorg(depth, [
        [raws[1], 0],
        [raws[0], depth - 1],
      ]);
      // In its new block a log may have another number: then the old row stays, reverted, beside the new one.
      const depositsOf = async (account: Hex) =>
        (await list(account)).filter(({ status }) => status !== "reverted");
      await until(() => watcher.status().lastReorgDepth === depth);
      const again = { status: "seen", blockNumber: head };
      await until(async () => expect(await depositsOf(stays)).toMatchObject([again]));
      expect(watcher.status()).toMatchObject({ state: "following" });
      expect(await list(drops)).toMatchObject([{ status: "reverted" }]);
      expect(await depositsOf(moves)).toMatchObject([
        { status: "seen", blockNumber: head - BigInt(depth) + 1n },
      ]);
      await chain.mine(N);
      await scanned(head + BigInt(N));
      expect(await Promise.all(accounts.map((account) => balanceOf(database, account)))).toEqual([
        7n,
        9n,
        0n,
      ]);
      const [row] = await depositsOf(stays);
      const block = await chain.client.getBlock({ blockNumber: head });
      expect(row).toMatchObject({ status: "confirmed", blockHash: block.hash });
      for (const account of [stays, moves])
        expect(await eventsOf(database, account)).toEqual([
          "seen",
          "reverted",
          "seen",
          "balance",
          "confirmed",
        ]);
      expect(await eventsOf(database, drops)).toEqual(["seen", "reverted"]);
      expect(await faultsOf(database)).toEqual([]);
    },
  );

  test.each([
    ["dropped", []],
    ["moved", [0, N + 1]],
    ["reordered", [1, 0]],
  ] as const)(
    "deeper than that, a credited deposit that is %s is not reverted: the watcher halts and logs it once",
    async (_how, places) => {
      const { chain, database, accounts, raws, lines, list, watcher } = await threeDeposits(kind, N + 2);
      const before = await Promise.all(accounts.map((account) => list(account)));
      expect(before).toMatchObject(AMOUNTS.map((amount) => [{ amount, status: "confirmed" }]));
      const again = places.map((place, n): [Hex, number] => [raws[n] ?? "0x", place]);
      await chain.reorg(N + 2, again);
      const [late] = await chain.senders(1);
      await chain.deposit(accounts[0], 100n, { from: late ?? "0x" });
      await chain.mine(2 * N);
      await until(() => watcher.status().state === "halted_deep_reorg");
      watcher.poke();
      await until(async () => (await watcherStatus(database)) === "halted_deep_reorg");
      expect(lines.filter((line) => line.includes("HALTED"))).toHaveLength(1);
      expect(await Promise.all(accounts.map((account) => list(account)))).toMatchObject(
        AMOUNTS.map((amount) => [{ amount, status: "confirmed" }]),
      );
      expect(await Promise.all(accounts.map((account) => balanceOf(database, account)))).toEqual(AMOUNTS);
      expect(await faultsOf(database)).toEqual([]);
    },
  );

  test("100 deposits under 20 random reorgs are credited exactly as the final chain has them", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase(kind)];
    const accounts = Array.from({ length: 10 }, newAccount);
    const senders = await chain.senders(100);
    const { watcher, scanned } = watchDeposits(database, {
      urls: [chain.url],
      confirmations: N,
      pollMs: 5,
    });
    watcher.start();
    await chain.mine(N);
    const raws = new Map<string, Hex>();
    const story: string[] = [];
    for (const [n, from] of senders.entries()) {
      const { raw, hash } = await chain.deposit(accounts[randomInt(10)] ?? "0x", BigInt(n + 1), { from });
      raws.set(hash, raw);
      if (randomInt(3) === 0) await chain.mine(randomInt(1, N));
      if (n % 5 !== 4) continue;
      const depth = randomInt(1, N);
      const gone = await transactionsOf(chain, depth);
      const again = gone.flatMap((hash): [Hex, number][] => {
        const kept = raws.get(hash);
        return kept && randomInt(4) > 0 ? [[kept, randomInt(depth)]] : [];
      });
      if (randomInt(2) === 0) await scanned(await chain.height());
      await chain.reorg(depth, again);
      story.push(`${depth} blocks, ${again.length} of ${gone.length} again`);
    }
    await chain.mine(N);
    await scanned(await chain.height());
    const logs = await chain.client.getLogs({ address: VAULT, fromBlock: 0n, toBlock: "latest" });
    const deposited = sumByAccount(logs);
    const credited = await Promise.all(accounts.map((account) => balanceOf(database, account)));
    expect(story).toHaveLength(20);
    expect(credited, story.join("; ")).toEqual(accounts.map((account) => deposited.get(account) ?? 0n));
    const [counted] = await database.rows<{ confirmed: number; others: number }>(
      `select count(*) filter (where status = 'confirmed')::int as confirmed,
         count(*) filter (where status = 'seen')::int as others from deposit`,
    );
    expect(counted).toEqual({ confirmed: logs.length, others: 0 });
    expect(await faultsOf(database)).toEqual([]);
  });
});

describe("an endpoint that sends wrong logs", () => {
  test("a log that occurs twice in one answer is one deposit", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const proxy = await startRpcProxy(chain.url);
    proxy.judge = async (call) => {
      if (call.method !== "eth_getLogs") return "pass";
      const body = JSON.stringify({ jsonrpc: "2.0", ...call });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(chain.url, { method: "POST", headers, body });
      const { result } = (await answer.json()) as { result: unknown[] };
      return { result: [...result, ...result] };
    };
    const { watcher, list, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 1 });
    watcher.start();
    await chain.deposit(account, 7n);
    await chain.mine(2);
    await scanned(4n);
    expect(await list(account)).toMatchObject([{ amount: 7n, status: "confirmed" }]);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(await faultsOf(database)).toEqual([]);
  });

  test("logs of another block than the requested one are refused", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
    const proxy = await startRpcProxy(chain.url);
    await chain.deposit(account, 7n);
    const other = await chain.client.getBlock({ blockNumber: 2n });
    proxy.judge = ({ method, params: [filter] }) =>
      method === "eth_getLogs" ? { params: [{ ...(filter as object), blockHash: other.hash }] } : "pass";
    const { watcher, list, scanned } = watchDeposits(database, { urls: [proxy.url], confirmations: 0 });
    watcher.start();
    await until(() => watcher.status().state === "rpc_unavailable");
    expect(await list(account)).toEqual([]);
    proxy.judge = () => "pass";
    await scanned(2n);
    expect(await balanceOf(database, account)).toBe(7n);
  });
});

async function transactionsOf(chain: Awaited<ReturnType<typeof startChain>>, depth: number) {
  const head = await chain.height();
  const numbers = Array.from({ length: depth }, (_, n) => head - BigInt(n));
  const blocks = await Promise.all(numbers.map((blockNumber) => chain.client.getBlock({ blockNumber })));
  return blocks.flatMap(({ transactions }) => transactions);
}

function sumByAccount(logs: readonly Log[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { args } of parseEventLogs({ abi: vaultAbi, logs: [...logs], eventName: "Deposited" })) {
    const account = args.account.toLowerCase();
    sums.set(account, (sums.get(account) ?? 0n) + args.amount);
  }
  return sums;
}

async function watcherStatus(database: { rows: Awaited<ReturnType<typeof openTestDatabase>>["rows"] }) {
  const [row] = await database.rows<{ state: string }>("select state from watcher_cursor");
  return row?.state;
}
