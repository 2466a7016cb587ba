// @module-tag large
import { expect, test } from "vitest";
import { readStatuses } from "../../../src/chain/watcher/log-watcher.store.ts";
import { WatcherAcceptanceService } from "../../../src/chain/watcher/watcher-acceptance.service.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { FLOOD, flood, handlesOf, watchAgents } from "../../support/chain/agent-chain.ts";
import { startChain } from "../../support/chain/chain.ts";
import { balanceOf, faultsOf, newAccount, watchDeposits } from "../../support/chain/deposits.ts";
import { describeDatabases, openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

const CHAIN_ID = 16_602;
const HALTED = "halted_deep_reorg";

describeDatabases("a halt that an operator accepts", (kind) => {
  test("credited deposits stay credited, and are not credited again where their transaction was included again", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase(kind)];
    const [back, gone, seen, later] = [newAccount(), newAccount(), newAccount(), newAccount()] as const;
    const senders = (await chain.senders(3)) as [Hex, Hex, Hex];
    const { watcher, list, scanned } = watchDeposits(database, { urls: [chain.url], confirmations: 1 });
    watcher.start();
    await chain.client.setAutomine(false);
    const sent = [
      await chain.send(gone, 5n, { from: senders[0] }),
      await chain.send(back, 7n, { from: senders[1] }),
    ];
    await chain.mine(1);
    await chain.client.setAutomine(true);
    await chain.mine(2);
    await chain.deposit(seen, 9n, { from: senders[2] });
    await scanned(await chain.height());
    expect(await list(back)).toMatchObject([{ status: "confirmed" }]);
    const acceptance = new WatcherAcceptanceService(database, CHAIN_ID);
    await expect(acceptance.accept("deposits")).rejects.toThrow(
      "The watcher deposits is not halted: its state is following.",
    );
    await expect(acceptance.accept("depots")).rejects.toThrow("deposits: following");
    // Only the second is included again, alone in its block: its log has another number there.
    await chain.reorg(4, [[sent[1]?.raw ?? "0x", 2]]);
    await chain.mine(3);
    // An acceptance reads what is stored, which a watcher does after it has halted.
    const note = await until(async () => (await readStatuses(database)).get("deposits")?.note ?? false);
    expect(note).toMatch(/^a credited deposit of block \d+ or above is gone from the chain$/);
    await expect(new WatcherAcceptanceService(database, 16_661).accept("deposits")).rejects.toThrow(
      "does not follow chain 16661",
    );
    expect(await acceptance.accept("deposits")).toMatchObject({ state: HALTED, note });
    watcher.poke();
    await scanned(await chain.height());
    expect(watcher.status().note).toBeUndefined();
    await chain.deposit(later, 11n, { from: senders[0] });
    await chain.mine(1);
    await scanned(await chain.height());
    const balances = await Promise.all(
      [back, gone, seen, later].map((account) => balanceOf(database, account)),
    );
    expect(balances).toEqual([7n, 5n, 0n, 11n]);
    expect(await list(seen)).toMatchObject([{ status: "reverted" }]);
    const block = await chain.client.getTransactionReceipt({ hash: sent[1]?.hash ?? "0x" });
    expect(await list(back)).toMatchObject([{ status: "confirmed", blockHash: block.blockHash }]);
    expect(await faultsOf(database)).toEqual([]);
    // The acceptance was for once: the next such reorg halts again.
    await chain.reorg(2);
    await chain.mine(3);
    await until(() => watcher.status().state === HALTED);
  });

  test("a chain that differs beyond the remembered blocks is read again from the newest common block", async () => {
    const [chain, database] = [await startChain(), await openTestDatabase(kind)];
    const [{ client }, owner] = [handlesOf(chain.url), newAccount()];
    await flood(client, { count: 2, to: owner, base: 0n });
    await chain.mine(60);
    await flood(client, { count: 3, to: owner, base: 10n });
    await chain.mine(30);
    const { watcher, tokens, lines, caughtUp } = watchAgents(database, {
      url: chain.url,
      address: FLOOD,
      reorgBlocks: 5,
      pageBlocks: 20,
    });
    watcher.start();
    await caughtUp();
    const owned = async () => {
      const { rows } = await tokens.list({ owner }, { first: 100 });
      return rows.map(({ tokenId }) => Number(tokenId)).toSorted((one, other) => one - other);
    };
    expect(await owned()).toEqual([1, 2, 11, 12, 13]);
    await chain.reorg(50);
    await flood(client, { count: 1, to: owner, base: 20n });
    await until(async () => (await readStatuses(database)).get(watcher.name)?.state === HALTED);
    expect(lines.join()).toContain("the chain differs below block");
    await new WatcherAcceptanceService(database, CHAIN_ID).accept(watcher.name);
    watcher.poke();
    await caughtUp();
    expect(await owned()).toEqual([1, 2, 21]);
  });
});
