import { describe, expect, inject, onTestFinished, test } from "vitest";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { bookDeposit, type Seeded, seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const log = createLogger("silent");

/** As one process has them. Nothing is held at its end. */
function holdsOn(database: Database): HoldsService {
  const holds = new HoldsService({ database, log, committed: () => {} });
  onTestFinished(() => holds.stop());
  return holds;
}

/** Resolves when a statement waits for a lock. */
function untilBlocked(database: Database): Promise<boolean> {
  return until(async () => (await database.rows("select 1 from pg_locks where not granted")).length > 0);
}

async function balanceOf(database: Database, account: string) {
  const [balance] = await new BalanceService(database).byAccounts([account]);
  return balance;
}

async function giveCredit(database: Database, { account }: Seeded, neuron: bigint): Promise<void> {
  await database.rows("update account set credit = $2::numeric where address = $1", [
    account,
    String(neuron),
  ]);
  await database.rows(
    `insert into ledger_entry (transfer_id, book, account, amount, cause)
     values ('grant', 'credit', $1, $2::numeric, 'credit'),
       ('grant', 'promotion', 'router', -$2::numeric, 'credit')`,
    [account, String(neuron)],
  );
}

/** The router's own account. */
async function routerAccount(database: Database): Promise<Readonly<Record<string, bigint>>> {
  const rows = await database.rows<{ book: string; amount: string }>(
    `select book, sum(amount)::text as amount from ledger_entry
     where account = 'router' and book in ('revenue', 'loss') group by book`,
  );
  return Object.fromEntries(rows.map(({ book, amount }) => [book, BigInt(amount)]));
}

/** The cost of each request of an account, in the order in which they ended. */
async function billsOf(database: Database, { account }: Seeded) {
  const rows = await database.rows<{ input: string; output: string; total: string }>(
    `select input_cost::text as input, output_cost::text as output, total_cost::text as total
     from inference_request where account = $1 order by finished_at`,
    [account],
  );
  return rows.map(({ input, output, total }) => ({
    input: BigInt(input),
    output: BigInt(output),
    total: BigInt(total),
  }));
}

describe.skipIf(!inject("postgresUrl"))("while a deposit of the same moment has locked the account", () => {
  const hold = (holds: HoldsService, _: Database, request: HoldRequest) => holds.hold(request);
  const holdIn = (holds: HoldsService, database: Database, request: HoldRequest) =>
    holds.commit(request, () => database.transaction((tx) => holds.holdIn(tx, request)));

  test.each([
    ["an allotment", hold],
    ["a hold of its own", holdIn],
  ])("a request that waits for %s gets it from that deposit", async (_, place) => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    const request = requestFor(seeded, 60n);
    const held = await database.transaction(async (tx) => {
      await bookDeposit(tx, seeded.account, 100n);
      const placed = place(holds, database, request);
      await untilBlocked(database);
      return { placed };
    });
    expect(await held.placed).toBe(60n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ total: 110n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a settlement above what was held is charged to it", async () => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    const request = requestFor(seeded, 10n);
    await holds.hold(request);
    const settled = await database.transaction(async (tx) => {
      await bookDeposit(tx, seeded.account, 100n);
      const charged = holds.settle(settlementOf(request.id, 60n));
      await untilBlocked(database);
      return { charged };
    });
    expect(await settled.charged).toBe(60n);
    await holds.stop();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, available: 50n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });
});

describeDatabases("holds", (kind) => {
  test("of 100 parallel holds on money for 50, 50 are granted and 50 refused, and nothing is left over", async () => {
    const database = await openTestDatabase(kind);
    for (let round = 0; round < 3; round++) {
      const seeded = await seedAccount(database, 50n * 7n);
      // Two services over one database behave as two processes.
      const services = [holdsOn(database), holdsOn(database)];
      const asked = Array.from({ length: 100 }, () => requestFor(seeded, 7n));
      const answers = await Promise.allSettled(asked.map((hold, n) => services[n % 2]?.hold(hold)));
      const granted = asked.flatMap(({ id }, n) =>
        answers[n]?.status === "fulfilled" ? [{ id, holds: services[n % 2] }] : [],
      );
      expect(granted).toHaveLength(50);
      for (const answer of answers)
        if (answer.status === "rejected")
          expect(answer.reason).toMatchObject({ code: "insufficient_balance" });
      expect(await balanceOf(database, seeded.account)).toMatchObject({
        held: 350n,
        available: 0n,
        total: 350n,
      });
      await Promise.all(granted.map(({ id, holds }) => holds?.settle(settlementOf(id, 7n))));
      expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 0n });
      await Promise.all(services.map((holds) => holds.stop()));
    }
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a small hold is not refused because a large one precedes it in the batch", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    const first = holds.hold(requestFor(seeded, 1n));
    const large = holds.hold(requestFor(seeded, 100n));
    const small = holds.hold(requestFor(seeded, 9n));
    await expect(large).rejects.toMatchObject({ code: "insufficient_balance" });
    expect([await first, await small]).toEqual([1n, 9n]);
  });

  test("a hold without a limit takes what the balance affords, but not less than its minimum", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    expect(await holds.hold(requestFor(seeded, 0n, { minimum: 3n, maximum: 1_000n }))).toBe(10n);
    await expect(holds.hold(requestFor(seeded, 0n, { minimum: 3n, maximum: 1_000n }))).rejects.toMatchObject({
      code: "insufficient_balance",
    });
  });

  test("a request ends once: one of 20 parallel settlements charges, and the rest is released", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const holds = holdsOn(database);
    const hold = requestFor(seeded, 60n);
    await holds.hold(hold);
    const charged = await Promise.all(
      Array.from({ length: 20 }, () => holds.settle(settlementOf(hold.id, 25n))),
    );
    await holds.stop();
    expect(charged.filter((neuron) => neuron === 25n)).toHaveLength(1);
    expect(charged.filter((neuron) => neuron === 0n)).toHaveLength(19);
    expect(await balanceOf(database, seeded.account)).toMatchObject({
      held: 0n,
      available: 75n,
      deposit: 75n,
    });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a cost above its hold is charged to the balance, and the router books the shortfall as its loss", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const holds = holdsOn(database);
    const [first, second] = [requestFor(seeded, 40n), requestFor(seeded, 10n)];
    await holds.hold(first);
    expect(await holds.settle(settlementOf(first.id, 55n))).toBe(55n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ total: 45n });
    expect(await routerAccount(database)).toEqual({ revenue: 55n });
    await holds.hold(second);
    expect(await holds.settle(settlementOf(second.id, 60n))).toBe(45n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ available: 0n, held: 0n });
    expect(await routerAccount(database)).toEqual({ revenue: 115n, loss: -15n });
    expect(await billsOf(database, seeded)).toEqual([
      { input: 55n, output: 0n, total: 55n },
      { input: 45n, output: 0n, total: 45n },
    ]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("the part of a cost beyond its hold uses credit first, and never what another request holds", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 20n);
    await giveCredit(database, seeded, 30n);
    const holds = holdsOn(database);
    const [other, first, second] = [requestFor(seeded, 15n), requestFor(seeded, 5n), requestFor(seeded, 1n)];
    for (const hold of [other, first, second]) await holds.hold(hold);
    expect(await holds.settle(settlementOf(first.id, 12n))).toBe(12n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ credit: 18n, deposit: 20n });
    expect(await holds.settle(settlementOf(second.id, 1_000n))).toBe(23n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 15n, available: 0n });
    expect(await holds.settle(settlementOf(other.id, 3n))).toBe(3n);
    await holds.stop();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, available: 12n });
    const [used] = await database.rows<{ credit: string; deposit: string }>(
      `select sum(credit_used)::text as credit, sum(deposit_used)::text as deposit
       from inference_request where account = $1`,
      [seeded.account],
    );
    expect(used).toEqual({ credit: "18", deposit: "20" });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a cost above its hold never exceeds the credit limit of its key", async () => {
    const database = await openTestDatabase(kind);
    const { account } = await seedAccount(database, 100n);
    const holds = holdsOn(database);
    const apiKeys = new ApiKeyService({ database, clock: systemClock, committed: () => {} });
    const { key } = await apiKeys.create(account, "limited", { creditLimit: 30n });
    const limited = { account, keyId: key.id } as Seeded;
    const [first, second] = [requestFor(limited, 10n), requestFor(limited, 10n)];
    await Promise.all([first, second].map((hold) => holds.hold(hold)));
    const charged = await Promise.all([first, second].map(({ id }) => holds.settle(settlementOf(id, 18n))));
    expect(charged.toSorted()).toEqual([12n, 18n]);
    await holds.stop();
    expect(await balanceOf(database, account)).toMatchObject({ available: 70n, held: 0n });
    expect(await routerAccount(database)).toEqual({ revenue: 36n, loss: -6n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("none of 60 parallel settlements above their holds overdraws the account, and each neuron is charged", async () => {
    const database = await openTestDatabase(kind);
    for (let round = 0; round < 3; round++) {
      const seeded = await seedAccount(database, 1_000n);
      const services = [holdsOn(database), holdsOn(database)];
      const asked = Array.from({ length: 60 }, () => requestFor(seeded, 10n));
      await Promise.all(asked.map((hold, n) => services[n % 2]?.hold(hold)));
      const costs = asked.map((_, n) => BigInt((n * 7) % 40));
      const charged = await Promise.all(
        asked.map(({ id }, n) => services[n % 2]?.settle(settlementOf(id, costs[n] ?? 0n))),
      );
      const total = charged.reduce<bigint>((sum, neuron) => sum + (neuron ?? 0n), 0n);
      for (const [n, neuron] of charged.entries()) {
        const cost = costs[n] ?? 0n;
        expect(neuron).toBeGreaterThanOrEqual(cost < 10n ? cost : 10n);
        expect(neuron).toBeLessThanOrEqual(cost);
      }
      const owed = costs.reduce((sum, cost) => sum + cost, 0n);
      expect(owed).toBeGreaterThan(1_000n);
      await Promise.all(services.map((holds) => holds.stop()));
      const balance = await balanceOf(database, seeded.account);
      expect(balance).toMatchObject({ held: 0n, available: 1_000n - total });
    }
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("credit is used before deposit, and what is not used returns to its source", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    await giveCredit(database, seeded, 30n);
    const holds = holdsOn(database);
    const hold = requestFor(seeded, 50n);
    await holds.hold(hold);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ credit: 30n, deposit: 100n });
    await holds.settle(settlementOf(hold.id, 35n));
    await holds.stop();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ credit: 0n, deposit: 95n, held: 0n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("the sweeper releases an expired hold, and settling it afterwards charges nothing", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    const hold = requestFor(seeded, 10n, { expiresInSeconds: -1 });
    await holds.commit(hold, () => database.transaction((tx) => holds.holdIn(tx, hold)));
    expect(await holds.sweep()).toBe(1);
    const settled = database.transaction((tx) => holds.settleIn(tx, settlementOf(hold.id, 10n)));
    expect(await settled).toBeUndefined();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ available: 10n, held: 0n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("when 200 admissions race one revocation, none is admitted after it", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000n);
    const holds = holdsOn(database);
    const apiKeys = new ApiKeyService({ database, clock: systemClock, committed: () => {} });
    let revoked = false;
    const late: string[] = [];
    const calls = Array.from({ length: 200 }, async (_, n) => {
      if (n === 100) {
        await apiKeys.revoke(seeded.account, seeded.keyId);
        revoked = true;
      }
      const startedAfter = revoked;
      const hold = requestFor(seeded, 1n);
      const admitted = await holds.hold(hold).then(
        () => true,
        () => false,
      );
      if (admitted && startedAfter) late.push(hold.id);
    });
    await Promise.all(calls);
    expect(late).toEqual([]);
    await expect(holds.hold(requestFor(seeded, 1n))).rejects.toMatchObject({ code: "api_key_revoked" });
  });

  test("what a process of the previous version books during an upgrade counts, and is final", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const transfer = `
      with moved as (
        update account set deposit = deposit - 4, credit = credit + 4 where address = $1 returning address
      ), entries as (
        insert into ledger_entry (transfer_id, book, account, amount, cause)
        select 'an earlier transfer', e.book, moved.address, e.amount, 'credit'
        from moved, lateral (values ('deposit', -4), ('credit', 4)) as e(book, amount)
      )
      select address from moved`;
    expect(await database.rows(transfer, [seeded.account])).toHaveLength(1);
    expect(await findLedgerFaults(database)).toEqual([]);
    await expect(database.rows(transfer, [seeded.account])).rejects.toThrow("ledger_entry_once");
    await expect(database.rows("delete from earlier_ledger_entry")).rejects.toThrow("never changed");
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a transfer can be neither changed nor deleted", async () => {
    const database = await openTestDatabase(kind);
    await seedAccount(database, 10n);
    await expect(database.rows("update ledger_transfer set amount = 1")).rejects.toThrow("never changed");
    await expect(database.rows("delete from ledger_transfer")).rejects.toThrow("never changed");
  });
});
