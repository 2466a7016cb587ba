import { expect, test } from "vitest";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import { findLedgerFaults } from "../../src/accounts/ledger.store.ts";
import type { Settlement } from "../../src/accounts/settlements.store.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { newRequestId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-key.service.ts";
import { describeDatabases, openTestDatabase } from "../support/database.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";

const log = createLogger("silent");

function holdsOn(database: Database): HoldsService {
  return new HoldsService({ database, log, committed: () => {} });
}

function asking(seeded: Seeded, neuron: bigint, more: Partial<HoldRequest> = {}): HoldRequest {
  return {
    id: newRequestId(),
    account: seeded.account,
    keyId: seeded.keyId,
    minimum: neuron,
    maximum: neuron,
    model: "m",
    provider: "0x0",
    serviceType: "chatbot",
    inputPrice: 1n,
    outputPrice: 1n,
    expiresInSeconds: 60,
    ...more,
  };
}

function ending(id: string, cost: bigint, outcome: Settlement["outcome"] = "completed"): Settlement {
  return {
    id,
    outcome,
    inputTokens: 1,
    outputTokens: 1,
    usageEstimated: false,
    inputCost: cost,
    outputCost: 0n,
    errorCode: undefined,
    firstByteMs: undefined,
    durationMs: 1,
  };
}

async function balanceOf(database: Database, account: string) {
  const [balance] = await new BalanceService(database).byAccounts([account]);
  return balance;
}

describeDatabases("holds", (kind) => {
  test("of 100 parallel holds on money for 50, 50 are granted, 50 refused, and nothing is left over", async () => {
    const database = await openTestDatabase(kind);
    for (let round = 0; round < 3; round++) {
      const seeded = await seedAccount(database, 50n * 7n);
      // Two services on one database are what two processes are.
      const services = [holdsOn(database), holdsOn(database)];
      const asked = Array.from({ length: 100 }, () => asking(seeded, 7n));
      const answers = await Promise.allSettled(asked.map((hold, n) => services[n % 2]?.hold(hold)));
      const granted = asked.filter((_, n) => answers[n]?.status === "fulfilled");
      expect(granted).toHaveLength(50);
      for (const answer of answers)
        if (answer.status === "rejected")
          expect(answer.reason).toMatchObject({ code: "insufficient_balance" });
      expect(await balanceOf(database, seeded.account)).toMatchObject({
        held: 350n,
        available: 0n,
        total: 350n,
      });
      await Promise.all(granted.map(({ id }, n) => services[n % 2]?.settle(ending(id, 7n))));
      expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 0n });
    }
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a small hold is not refused because a large one before it in the batch was", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    const first = holds.hold(asking(seeded, 1n));
    const large = holds.hold(asking(seeded, 100n));
    const small = holds.hold(asking(seeded, 9n));
    await expect(large).rejects.toMatchObject({ code: "insufficient_balance" });
    expect([await first, await small]).toEqual([1n, 9n]);
  });

  test("a hold without a limit takes what the balance affords, and not less than its minimum", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    expect(await holds.hold(asking(seeded, 0n, { minimum: 3n, maximum: 1_000n }))).toBe(10n);
    await expect(holds.hold(asking(seeded, 0n, { minimum: 3n, maximum: 1_000n }))).rejects.toMatchObject({
      code: "insufficient_balance",
    });
  });

  test("a hold ends once: of 20 parallel settlements one is charged, and the rest goes back", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const services = [holdsOn(database), holdsOn(database)];
    const hold = asking(seeded, 60n);
    await services[0]?.hold(hold);
    const charged = await Promise.all(
      Array.from({ length: 20 }, (_, n) => services[n % 2]?.settle(ending(hold.id, 25n))),
    );
    expect(charged.filter((neuron) => neuron === 25n)).toHaveLength(1);
    expect(charged.filter((neuron) => neuron === 0n)).toHaveLength(19);
    expect(await balanceOf(database, seeded.account)).toMatchObject({
      held: 0n,
      available: 75n,
      deposit: 75n,
    });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a cost above its hold is capped, and the router books the loss", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const holds = holdsOn(database);
    const hold = asking(seeded, 40n);
    await holds.hold(hold);
    expect(await holds.settle(ending(hold.id, 55n))).toBe(40n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ available: 60n, held: 0n });
    const books = await database.rows(
      "select book, amount::text from ledger_entry where account = 'router' order by book",
    );
    expect(books).toEqual([
      { book: "loss", amount: "-15" },
      { book: "revenue", amount: "55" },
    ]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("credit is used before deposit, and what is not used goes back to where it came from", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    await database.rows("update account set credit = 30 where address = $1", [seeded.account]);
    await database.rows(
      `insert into ledger_entry (transfer_id, book, account, amount, cause)
       values ('grant', 'credit', $1, 30, 'credit'), ('grant', 'promotion', 'router', -30, 'credit')`,
      [seeded.account],
    );
    const holds = holdsOn(database);
    const hold = asking(seeded, 50n);
    await holds.hold(hold);
    expect(await balanceOf(database, seeded.account)).toMatchObject({
      credit: 30n,
      deposit: 100n,
      held: 50n,
    });
    await holds.settle(ending(hold.id, 35n));
    expect(await balanceOf(database, seeded.account)).toMatchObject({ credit: 0n, deposit: 95n, held: 0n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("an expired hold is released by the sweeper, and settling it afterwards charges nothing", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 10n);
    const holds = holdsOn(database);
    const hold = asking(seeded, 10n, { expiresInSeconds: -1 });
    await holds.hold(hold);
    expect(await holds.sweep()).toBe(1);
    expect(await holds.settle(ending(hold.id, 10n))).toBe(0n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ available: 10n, held: 0n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("while 200 admissions race one revocation, none is admitted after it", async () => {
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
      const hold = asking(seeded, 1n);
      const admitted = await holds.hold(hold).then(
        () => true,
        () => false,
      );
      if (admitted && startedAfter) late.push(hold.id);
    });
    await Promise.all(calls);
    expect(late).toEqual([]);
    await expect(holds.hold(asking(seeded, 1n))).rejects.toMatchObject({ code: "api_key_revoked" });
    const [after] = await database.rows<{ n: number }>(
      `select count(*)::int as n from hold h join api_key k on k.account = h.account
       where k.id = $1 and h.created_at > k.revoked_at + interval '1 second'`,
      [seeded.keyId],
    );
    expect(after?.n).toBe(0);
  });

  test("an entry of the ledger can be neither changed nor deleted", async () => {
    const database = await openTestDatabase(kind);
    await seedAccount(database, 10n);
    await expect(database.rows("update ledger_entry set amount = 1")).rejects.toThrow("never changed");
    await expect(database.rows("delete from ledger_entry")).rejects.toThrow("never changed");
  });
});
