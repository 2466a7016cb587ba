import { parseEther } from "viem";
import { expect, test } from "vitest";
import { DEFAULT_VAULT_EVENT, parseVaultEvent } from "../../src/accounts/vault-event.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../src/devnet/chain/actors.ts";
import { deployContracts } from "../../src/devnet/chain/deploy.ts";
import { MAX_NEURON } from "../../src/kernel/text/amount.ts";
import { lowerHex } from "../../src/kernel/text/hex.ts";
import { startChain } from "../support/chain/chain.ts";
import { balanceOf, eventsOf, faultsOf, newAccount, watchDeposits } from "../support/chain/deposits.ts";
import { startRpcProxy, type Verdict } from "../support/chain/rpc-proxy.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

describeDatabases("deposits", (kind) => {
  test("a deposit is seen at once, credited when it has enough confirmations, and only once", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(kind), newAccount()];
    const { watcher, list, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 3 });
    watcher.start();
    const { hash } = await chain.deposit(account, 7n);
    await scanned(2n);
    expect(await list(account)).toMatchObject([
      {
        amount: 7n,
        status: "seen",
        confirmations: 0,
        requiredConfirmations: 3,
        transactionHash: hash,
        creditedAt: null,
      },
    ]);
    await chain.mine(2);
    await scanned(4n);
    expect(await list(account)).toMatchObject([{ status: "seen", confirmations: 2 }]);
    expect(await balanceOf(database, account)).toBe(0n);
    await chain.mine(1);
    await scanned(5n);
    expect(await list(account)).toMatchObject([
      { status: "confirmed", creditedAt: expect.any(Date), blockNumber: 2n },
    ]);
    await chain.mine(5);
    await scanned(10n);
    expect(await balanceOf(database, account)).toBe(7n);
    expect(await eventsOf(database, account)).toEqual(["seen", "balance", "confirmed"]);
    expect(await faultsOf(database)).toEqual([]);
  });

  test("the largest possible amount is kept exactly, and an amount of zero is not a deposit", async () => {
    const [chain, database, rich, poor] = [
      await startChain(),
      await openTestDatabase(kind),
      newAccount(),
      newAccount(),
    ];
    const { watcher, list, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 0 });
    await chain.deposit(rich, MAX_NEURON);
    await chain.deposit(poor, 0n);
    watcher.start();
    await scanned(3n);
    expect(await list(rich)).toMatchObject([{ amount: MAX_NEURON, status: "confirmed" }]);
    expect(await balanceOf(database, rich)).toBe(MAX_NEURON);
    expect(await list(poor)).toEqual([]);
    expect(await faultsOf(database)).toEqual([]);
  });

  test.each([1, 3])(
    "a deposit is reverted when its %i newest blocks are replaced without it",
    async (depth) => {
      const [chain, database, account] = [await startChain(), await openTestDatabase(kind), newAccount()];
      const { watcher, list, scanned } = watchDeposits(database, { urls: [chain.url] });
      watcher.start();
      await chain.deposit(account, 7n);
      await chain.mine(depth - 1);
      await scanned(1n + BigInt(depth));
      await chain.reorg(depth);
      // The state follows the database.
      await until(() => watcher.status().lastReorgDepth === depth);
      expect(await list(account)).toMatchObject([{ status: "reverted", confirmations: 0 }]);
      await chain.mine(20);
      await scanned(21n + BigInt(depth));
      expect(await balanceOf(database, account)).toBe(0n);
      expect(await eventsOf(database, account)).toEqual(["seen", "reverted"]);
    },
  );

  test.each([1, 3])(
    "a deposit moved by %i replaced blocks is seen again in its new block, and credited once",
    async (depth) => {
      const [chain, database, account] = [await startChain(), await openTestDatabase(kind), newAccount()];
      const { watcher, list, scanned } = watchDeposits(database, { urls: [chain.url] });
      watcher.start();
      const { raw } = await chain.deposit(account, 7n);
      await chain.mine(depth - 1);
      await scanned(1n + BigInt(depth));
      const [before] = await list(account);
      await chain.reorg(depth, [[raw, depth - 1]]);
      await until(async () =>
        expect(await eventsOf(database, account)).toEqual(["seen", "reverted", "seen"]),
      );
      const [after] = await list(account);
      expect(after).toMatchObject({ id: before?.id, status: "seen", blockNumber: 1n + BigInt(depth) });
      expect(after?.blockHash).not.toBe(before?.blockHash);
      await chain.mine(20);
      await scanned(21n + BigInt(depth));
      expect(await balanceOf(database, account)).toBe(7n);
      expect(await faultsOf(database)).toEqual([]);
    },
  );

  test("a list is paged newest first, without a gap or a duplicate", async () => {
    const [chain, database, account] = [await startChain(), await openTestDatabase(kind), newAccount()];
    const { watcher, deposits, scanned } = watchDeposits(database, { urls: [chain.url] });
    for (const amount of [1n, 2n, 3n, 4n, 5n]) await chain.deposit(account, amount);
    watcher.start();
    await scanned(6n);
    const amounts: bigint[] = [];
    let after: string | undefined;
    do {
      const page = await deposits.list(account, { first: 2, after });
      amounts.push(...page.rows.map(({ amount }) => amount));
      after = page.hasNextPage ? page.rows.at(-1)?.cursor : undefined;
    } while (after);
    expect(amounts).toEqual([5n, 4n, 3n, 2n, 1n]);
    const seen = await database.rows<{ amount: string }>(
      "select data->>'amount' as amount from outbox where subject = $1 and data->>'status' = 'seen' order by id",
      [account],
    );
    expect(seen.map(({ amount }) => amount)).toEqual(["1", "2", "3", "4", "5"]);
    await expect(deposits.list(account, { first: 2, after: "WyJ4IiwieSJd" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });
});

test("where the chain reports finality, a deposit above it waits, however deep; otherwise the depth decides", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const proxy = await startRpcProxy(chain.url);
  let final: string | undefined = "0x2";
  proxy.judge = ({ method, params: [block] }) => {
    if (method !== "eth_getBlockByNumber" || block !== "finalized") return "pass";
    return final === undefined
      ? { error: { code: -32_602, message: "unknown block tag" } }
      : { params: [final, false] };
  };
  const { watcher, scanned } = watchDeposits(database, {
    urls: [proxy.url],
    confirmations: 1,
    waitFinalized: true,
  });
  watcher.start();
  for (const amount of [1n, 2n, 4n]) await chain.deposit(account, amount);
  await chain.mine(5);
  await scanned(9n);
  expect(await balanceOf(database, account)).toBe(1n);
  final = "0x3";
  await chain.mine(1);
  await scanned(10n);
  expect(await balanceOf(database, account)).toBe(3n);
  final = undefined;
  await chain.mine(1);
  await scanned(11n);
  expect(await balanceOf(database, account)).toBe(7n);
});

test("an endpoint that does not name the final block at the moment credits nothing above the last one", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const proxy = await startRpcProxy(chain.url);
  let answer: Verdict = { error: { code: -32_007, message: "50/second request limit reached" } };
  proxy.judge = ({ method, params: [block] }) =>
    method === "eth_getBlockByNumber" && block === "finalized" ? answer : "pass";
  const options = { urls: [proxy.url], confirmations: 1, waitFinalized: true };
  const { watcher, scanned, list } = watchDeposits(database, options);
  watcher.start();
  for (const amount of [1n, 2n]) await chain.deposit(account, amount);
  // Whether it supports the tag is not known yet.
  await until(() => watcher.status().state === "rpc_unavailable");
  answer = { params: ["0x2", false] };
  await chain.mine(2);
  await scanned(await chain.height());
  expect(await balanceOf(database, account)).toBe(1n);
  for (const failure of [
    { error: { code: 429, message: "compute units exceeded" } },
    { error: { code: -32_603, message: "Internal error" } },
    { error: { code: -32_000, message: "finalized block not found" } },
    { result: null },
  ]) {
    answer = failure;
    await chain.mine(2);
    await scanned(await chain.height());
    expect([await balanceOf(database, account), (await list(account)).length]).toEqual([1n, 2]);
  }
  answer = { params: ["0x3", false] };
  await chain.mine(1);
  await scanned(await chain.height());
  expect(await balanceOf(database, account)).toBe(3n);
});

test("an endpoint without finality credits nothing while the endpoint that has it is away or refuses", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const [without, other] = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
  const isFinal = ({ method, params: [block] }: { method: string; params: readonly unknown[] }) =>
    method === "eth_getBlockByNumber" && block === "finalized";
  without.judge = (call) =>
    isFinal(call) ? { error: { code: -32_602, message: "unknown block tag" } } : "pass";
  other.judge = (call) => (isFinal(call) ? { params: ["0x2", false] } : "pass");
  const urls = [without.url, other.url];
  const { watcher, scanned } = watchDeposits(database, { urls, confirmations: 1, waitFinalized: true });
  watcher.start();
  for (const amount of [1n, 2n]) await chain.deposit(account, amount);
  await chain.mine(2);
  await scanned(await chain.height());
  expect(await balanceOf(database, account)).toBe(1n);
  const busy: Verdict = { error: { code: 429, message: "compute units exceeded" } };
  for (const judge of [(call: never) => (isFinal(call) ? busy : "pass"), () => "cut"] as const) {
    other.judge = judge as typeof other.judge;
    await chain.mine(2);
    await scanned(await chain.height());
    expect(await balanceOf(database, account)).toBe(1n);
  }
  other.judge = (call) => (isFinal(call) ? { params: ["0x3", false] } : "pass");
  await until(async () => {
    await chain.mine(1);
    return (await balanceOf(database, account)) === 3n;
  });
});

test("only the vault's own event counts: not that of another contract", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const impostor = "0x0000000000000000000000000000000000bad017";
  const code = await chain.client.getCode({ address: chain.vault });
  await chain.client.setCode({ address: impostor, bytecode: code ?? "0x" });
  const { watcher, list, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 0 });
  watcher.start();
  await chain.deposit(account, 7n, { at: impostor });
  await scanned(2n);
  expect(await list(account)).toEqual([]);
});

test("a deposit into the development network's vault is credited to the account that it names", async () => {
  const [chain, database, account] = [await startChain(), await openTestDatabase(), newAccount()];
  const { vault } = await deployContracts(chain.url);
  const { watcher, list } = watchDeposits(database, { urls: [chain.url], vault, confirmations: 0 });
  watcher.start();
  await depositToVault(chain.url, {
    fromKey: DEMO_USER.privateKey,
    account,
    amountNeuron: parseEther("2.5"),
  });
  await until(async () => expect(await list(account)).toMatchObject([{ status: "confirmed" }]));
  expect(await balanceOf(database, lowerHex(account))).toBe(parseEther("2.5"));
});

test("a configured vault event is refused at the start unless it has the named arguments", () => {
  const event = "event Paid(address indexed who, bytes32 memo, uint128 wad)";
  const config = { event, accountArgument: "who", amountArgument: "wad" };
  expect(parseVaultEvent(config).topic).toMatch(/^0x[0-9a-f]{64}$/);
  expect(() => parseVaultEvent({ ...config, amountArgument: "memo" })).toThrow("no argument 'memo'");
  expect(() =>
    parseVaultEvent({ ...DEFAULT_VAULT_EVENT, event: "function f(address account, uint256 amount)" }),
  ).toThrow();
});
