import { expect, onTestFinished, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { verifyNewTransfers } from "../../src/accounts/verified-ledger.store.ts";
import type { Database, Transaction } from "../../src/db/database.ts";
import { nextTurn } from "../../src/kernel/async/next-turn.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { startHugeCounts } from "../support/huge-counts.ts";
import { bookDeposit, type Seeded, seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const log = createLogger("silent");
const EXACT = { faults: [] };

/** As one process has them. */
function holdsOn(database: Database): HoldsService {
  const holds = new HoldsService({ database, log, committed: () => {} });
  onTestFinished(() => holds.stop());
  return holds;
}

/** Holds and settles requests, side by side. */
async function spend(holds: HoldsService, seeded: Seeded, costs: readonly bigint[]): Promise<void> {
  await Promise.all(
    costs.map(async (cost) => {
      const request = requestFor(seeded, 5n);
      await holds.hold(request);
      await holds.settle(settlementOf(request.id, cost));
    }),
  );
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0);

/** What is verified, as it is stored. */
async function verifiedOf(database: Database) {
  return {
    accounts: await database.rows("select * from verified_account order by account"),
    keys: await database.rows("select * from verified_key order by api_key_id"),
  };
}

describeDatabases("the result of the last verification", (kind) => {
  test("counts more rows than an int4 does", async () => {
    const database = await openTestDatabase(kind);
    await seedAccount(database, 10_000n);
    const huge = await startHugeCounts(database);
    const ledger = new LedgerService({
      rows: (sql: string, parameters?: readonly unknown[]) =>
        (sql.includes("as entries") ? huge : database).rows(sql, parameters),
      transaction: <T>(work: (tx: Transaction) => Promise<T>) => database.transaction(work),
    } as unknown as Database);
    const { entries, openHolds, faults } = await ledger.verify();
    expect([entries > 3_000_000_000, openHolds, faults]).toEqual([true, 3_000_000_000, []]);
    expect((await ledger.last())?.transfers).toBeGreaterThan(3_000_000_000);
    expect(await verifyNewTransfers(huge)).toEqual({ faults: [], transfers: 3_000_000_000 });
  });

  test("is stored with its faults, whichever process verified", async () => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    expect(await ledger.last()).toBeUndefined();
    const { account } = await seedAccount(database, 10_000n);
    const first = await ledger.checkNow();
    expect(first).toMatchObject({ isFull: true, faultCount: 0, faults: [] });
    expect(first.transfers).toBeGreaterThan(0);
    expect(await new LedgerService(database).last()).toEqual(first);
    await database.rows("update account set deposit = deposit + 1 where address = $1", [account]);
    // A check that has just ended is not repeated, whoever requests it.
    expect(await new LedgerService(database).checkNow()).toEqual(first);
    await database.rows("update ledger_check set ended_at = ended_at - interval '11 seconds'");
    const [found, shared] = await Promise.all([ledger.checkNow(), ledger.checkNow()]);
    expect(shared).toBe(found);
    expect(found).toMatchObject({ isFull: false, faultCount: 1, faults: [{ subject: account }] });
    await database.rows("update account set deposit = deposit - 1 where address = $1", [account]);
    await ledger.verifyNew();
    expect(await ledger.last()).toMatchObject({ isFull: false, faultCount: 0 });
  });

  test("of a long ledger that was never verified is not made on demand", async () => {
    const database = await openTestDatabase(kind);
    await seedAccount(database, 1n);
    await database.rows("select setval('ledger_entry_id_seq', 100000)");
    await seedAccount(database, 1n);
    await expect(new LedgerService(database).checkNow()).rejects.toMatchObject({ code: "overloaded" });
  });
});

describeDatabases("verifying the ledger since the last time", (kind) => {
  test("needs a first verification of everything, then reads what is new, and arrives at the same sums", async () => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    const holds = holdsOn(database);
    const seeded = await Promise.all([seedAccount(database, 10_000n), seedAccount(database, 10_000n)]);
    expect(await ledger.verifyNew()).toBeUndefined();
    expect(await ledger.verify()).toMatchObject(EXACT);
    expect(await ledger.verifyNew()).toEqual({ faults: [], transfers: 0 });
    for (const [round, account] of [...seeded, ...seeded].entries()) {
      // Costs of less and of more than what was held, and of nothing.
      await spend(holds, account, [3n, 5n, 9n, 0n]);
      await database.transaction((tx) => bookDeposit(tx, account.account, BigInt(round + 1)));
      const found = await ledger.verifyNew();
      expect(found).toMatchObject(EXACT);
      expect(found?.transfers).toBeGreaterThan(3);
    }
    await holds.stop();
    expect(await ledger.verifyNew()).toMatchObject(EXACT);
    const stepwise = await verifiedOf(database);
    expect(await ledger.verify()).toMatchObject(EXACT);
    expect(await verifiedOf(database)).toEqual(stepwise);
  });

  test("finds no fault while money moves, and leaves nothing out", async () => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    const processes = [holdsOn(database), holdsOn(database)];
    const seeded = await Promise.all([1, 2, 3].map(() => seedAccount(database, 100_000n)));
    await ledger.verify();
    let isOver = false;
    let transfers = 0;
    const verifying = (async () => {
      while (!isOver) {
        // Several at once: none stores less than another one has.
        const found = await Promise.all(Array.from({ length: 8 }, () => ledger.verifyNew()));
        for (const one of found) expect(one).toMatchObject(EXACT);
        // They take turns: what the first of them verified is not new to the others.
        transfers += sumOf(found.map((one) => one?.transfers ?? 0));
        // A database in this thread answers without a turn of the event loop, for which settlements wait.
        await nextTurn();
      }
    })();
    // At least twelve, and until a verification has seen some of their transfers.
    for (let round = 0; round < 12 || transfers === 0; round++)
      await Promise.all(
        processes.flatMap((holds) => seeded.map((account) => spend(holds, account, [1n, 6n, 2n, 5n]))),
      );
    isOver = true;
    await verifying;
    for (const holds of processes) await holds.stop();
    expect(await ledger.verifyNew()).toMatchObject(EXACT);
    expect(transfers).toBeGreaterThan(0);
    const stepwise = await verifiedOf(database);
    expect(await ledger.verify()).toMatchObject(EXACT);
    expect(await verifiedOf(database)).toEqual(stepwise);
  });

  test("has verified the uncharged part of a cost with the charged one", async () => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    const [short, empty] = [await seedAccount(database, 10n), await seedAccount(database, 5n)];
    const holds = holdsOn(database);
    await spend(holds, short, [100n]);
    // Nothing is charged for a second request that was admitted on the same money and ended later.
    const [one, two] = [requestFor(empty, 5n), requestFor(empty, 0n)];
    await holds.hold(one);
    await holds.hold(two);
    await holds.settle(settlementOf(one.id, 5n));
    await holds.settle(settlementOf(two.id, 7n));
    await holds.stop();
    expect(await ledger.verify()).toMatchObject(EXACT);
    expect(await ledger.verifyNew()).toEqual({ faults: [], transfers: 0 });
    await database.transaction((tx) => bookDeposit(tx, short.account, 3n));
    expect(await ledger.verifyNew()).toEqual({ faults: [], transfers: 1 });
  });

  test("a stored sum that is wrong is replaced by a check of every row, and blocks nothing", async () => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    await spend(holds, seeded, [100n]);
    await holds.stop();
    await ledger.verify();
    // As earlier versions stored it: without the transfer of the uncharged part.
    await database.rows(
      `update verified_account v set transfer_id = (
         select max(id) from ledger_transfer t where t.account = v.account and t.from_book <> 'loss')`,
    );
    expect((await ledger.verifyNew())?.faults).not.toEqual([]);
    expect(await ledger.findFaults()).toEqual([]);
    expect(await ledger.last()).toMatchObject({ isFull: true, faultCount: 0 });
    expect(await ledger.verifyNew()).toEqual({ faults: [], transfers: 0 });
  });

  const FAULTS = [
    ["a balance", "update account set deposit = deposit + 1", /^the balance of an account/],
    ["a cost", "update inference_request set total_cost = total_cost + 1", /^the cost of a request/],
    ["a key", "update api_key set used = used + 1", /^a key without a period/],
    ["a deposit", "update deposit set amount = amount + 1", /^a deposit is not booked/],
    ["held money", "update account set held = held + 1, deposit = deposit - 1", /^held is not the sum/],
    [
      "a transfer",
      `insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
       select transfer_id, from_book, to_book, account, amount, cause from ledger_transfer where cause = 'settled' limit 1`,
      /^the balance of an account|^the cost of a request/,
    ],
    ["a missing request", "delete from inference_request", /^a payment has no request/],
  ] as const;
  test.each(FAULTS)("finds %s that is wrong, and verifies nothing with it", async (_, damage, fault) => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    const seeded = await seedAccount(database, 1_000n);
    const holds = holdsOn(database);
    await ledger.verify();
    await spend(holds, seeded, [3n, 4n]);
    await holds.stop();
    const before = await verifiedOf(database);
    onTestFinished(() =>
      // The ledger is audited afterwards.
      database
        .rows("truncate account, inference_request, ledger_transfer, earlier_ledger_entry cascade")
        .then(() => {}),
    );
    await database.rows(damage);
    const found = await ledger.verifyNew();
    expect(found?.faults.map((one) => one.fault).join("\n")).toMatch(new RegExp(fault.source, "m"));
    expect(await verifiedOf(database)).toEqual(before);
    const { faults } = await ledger.verify();
    expect(faults).not.toEqual([]);
    // Not verified: the next run has nothing to continue from.
    expect(await ledger.verifyNew()).toBeUndefined();
  });

  test("has nothing to continue from once a process of an earlier version has written entries", async () => {
    const database = await openTestDatabase(kind);
    const ledger = new LedgerService(database);
    const { account } = await seedAccount(database, 10n);
    await ledger.verify();
    await database.rows("update account set credit = 5 where address = $1", [account]);
    await database.rows(
      `insert into ledger_entry (transfer_id, book, account, amount, cause)
       values ('grant', 'credit', $1, 5, 'credit'), ('grant', 'promotion', 'router', -5, 'credit')`,
      [account],
    );
    expect(await ledger.verifyNew()).toBeUndefined();
    expect(await ledger.verify()).toMatchObject(EXACT);
    expect(await ledger.verifyNew()).toEqual({ faults: [], transfers: 0 });
  });
});
