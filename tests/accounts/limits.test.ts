// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import type { KeySettings } from "../../src/keys/api-keys/key-settings.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

function holdsOn(database: Database): HoldsService {
  const holds = new HoldsService({ database, log: createLogger("silent"), committed: () => {} });
  onTestFinished(() => holds.stop());
  return holds;
}

function keysOn(database: Database): ApiKeyService {
  return new ApiKeyService({ database, clock: systemClock, committed: () => {} });
}

/** An account with ample balance, and a second key of it with these settings. */
async function seedLimited(database: Database, terms: Partial<KeySettings>): Promise<Seeded> {
  const seeded = await seedAccount(database, 1_000_000n);
  const { key, secret } = await keysOn(database).create(seeded.account, "limited", terms);
  return { account: seeded.account, keyId: key.id, secret };
}

async function usedOf(database: Database, { keyId }: Seeded): Promise<bigint | undefined> {
  const [key] = await keysOn(database).byIds([keyId]);
  return key?.used;
}

/** Moves the charges of a key into the past, as if that time had passed. */
function age(database: Database, { keyId }: Seeded, interval: string) {
  return database.rows(
    "update api_key set spent_at = spent_at - $2::text::interval where id = $1::uuid returning id",
    [keyId, interval],
  );
}

const OVER = { code: "credit_limit_exceeded" };

describeDatabases("the limits of a key", (kind) => {
  test("of 100 parallel holds on a limit for 50, in two processes, 50 are granted, whatever the balance", async () => {
    const database = await openTestDatabase(kind);
    for (let round = 0; round < 3; round++) {
      const seeded = await seedLimited(database, { creditLimit: 350n });
      const services = [holdsOn(database), holdsOn(database)];
      const asked = Array.from({ length: 100 }, () => requestFor(seeded, 7n));
      const answers = await Promise.allSettled(asked.map((hold, n) => services[n % 2]?.hold(hold)));
      const granted = asked.flatMap(({ id }, n) =>
        answers[n]?.status === "fulfilled" ? [{ id, holds: services[n % 2] }] : [],
      );
      expect(granted).toHaveLength(50);
      for (const answer of answers)
        if (answer.status === "rejected") expect(answer.reason).toMatchObject(OVER);
      await Promise.all(granted.map(({ id, holds }) => holds?.settle(settlementOf(id, 7n))));
      expect(await usedOf(database, seeded)).toBe(350n);
      await expect(services[0]?.hold(requestFor(seeded, 1n))).rejects.toMatchObject(OVER);
    }
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("an open hold counts in full, and its unused part is available again when it ends", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { creditLimit: 100n });
    const holds = holdsOn(database);
    const first = requestFor(seeded, 80n);
    await holds.hold(first);
    expect(await usedOf(database, seeded)).toBe(0n);
    await expect(holds.hold(requestFor(seeded, 21n))).rejects.toMatchObject(OVER);
    await holds.settle(settlementOf(first.id, 30n));
    expect(await usedOf(database, seeded)).toBe(30n);
    expect(await holds.hold(requestFor(seeded, 0n, { minimum: 1n, maximum: 1_000n }))).toBe(70n);
    await expect(holds.hold(requestFor(seeded, 1n))).rejects.toMatchObject(OVER);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("within one batch, a small hold is not refused because a large one precedes it", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { creditLimit: 10n });
    const holds = holdsOn(database);
    const first = holds.hold(requestFor(seeded, 1n));
    const large = holds.hold(requestFor(seeded, 100n));
    const small = holds.hold(requestFor(seeded, 9n));
    await expect(large).rejects.toMatchObject(OVER);
    expect([await first, await small]).toEqual([1n, 9n]);
  });

  test("two keys of one account in one batch have their own limits and share the balance", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { creditLimit: 10n });
    const other = await keysOn(database).create(seeded.account, "other", { creditLimit: 20n });
    const holds = holdsOn(database);
    const answers = await Promise.allSettled([
      holds.hold(requestFor(seeded, 10n)),
      holds.hold(requestFor({ ...seeded, keyId: other.key.id }, 20n)),
      holds.hold(requestFor({ ...seeded, keyId: other.key.id }, 1n)),
      holds.hold(requestFor(seeded, 1n)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
  });

  test.each([
    ["daily", "1 day"],
    ["weekly", "7 days"],
    ["monthly", "31 days"],
  ] as const)("a %s limit is reset in the next period", async (resetPeriod, interval) => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { creditLimit: 10n, resetPeriod });
    const holds = holdsOn(database);
    const first = requestFor(seeded, 10n);
    await holds.hold(first);
    await holds.settle(settlementOf(first.id, 10n));
    await expect(holds.hold(requestFor(seeded, 1n))).rejects.toMatchObject(OVER);
    await age(database, seeded, interval);
    expect(await usedOf(database, seeded)).toBe(0n);
    const second = requestFor(seeded, 10n);
    expect(await holds.hold(second)).toBe(10n);
    await holds.settle(settlementOf(second.id, 4n));
    expect(await usedOf(database, seeded)).toBe(4n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("without a period a limit is never reset; changing the period counts the spending of the new period", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { creditLimit: 10n });
    const holds = holdsOn(database);
    const keys = keysOn(database);
    const first = requestFor(seeded, 10n);
    await holds.hold(first);
    await holds.settle(settlementOf(first.id, 10n));
    await age(database, seeded, "400 days");
    await database.rows(
      "update inference_request set finished_at = finished_at - interval '400 days' where api_key_id = $1::uuid",
      [seeded.keyId],
    );
    await expect(holds.hold(requestFor(seeded, 1n))).rejects.toMatchObject(OVER);
    expect(await keys.update(seeded.account, seeded.keyId, { resetPeriod: "monthly" })).toMatchObject({
      used: 0n,
    });
    const second = requestFor(seeded, 6n);
    await holds.hold(second);
    await holds.settle(settlementOf(second.id, 6n));
    expect(await keys.update(seeded.account, seeded.keyId, { resetPeriod: "daily" })).toMatchObject({
      used: 6n,
    });
    expect(await keys.update(seeded.account, seeded.keyId, { resetPeriod: "never" })).toMatchObject({
      used: 16n,
    });
    await expect(holds.hold(requestFor(seeded, 1n))).rejects.toMatchObject(OVER);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("setting, raising or removing a limit while holds are open takes effect at once", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, {});
    const holds = holdsOn(database);
    const keys = keysOn(database);
    const open = requestFor(seeded, 60n);
    await holds.hold(open);
    await keys.update(seeded.account, seeded.keyId, { creditLimit: 60n });
    await expect(holds.hold(requestFor(seeded, 1n))).rejects.toMatchObject(OVER);
    await keys.update(seeded.account, seeded.keyId, { creditLimit: 61n });
    await holds.hold(requestFor(seeded, 1n));
    await keys.update(seeded.account, seeded.keyId, { creditLimit: null });
    await holds.hold(requestFor(seeded, 1_000n));
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a key past its expiry is refused, also by a process that cached it as active", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { expiresAt: new Date(Date.now() + 3_600_000) });
    const holds = holdsOn(database);
    const [key] = await database.rows<{ at: string }>(
      "update api_key set expires_at = now() + interval '2 seconds' where id = $1::uuid returning expires_at as at",
      [seeded.keyId],
    );
    let refusal: unknown;
    while (!refusal) {
      const startedMs = Date.now();
      refusal = await holds.hold(requestFor(seeded, 1n)).catch((error: unknown) => error);
      if (typeof refusal !== "bigint") break;
      // The time of the row has microseconds, which `Date.parse` cuts off.
      expect(startedMs).toBeLessThanOrEqual(Date.parse(key?.at ?? ""));
      refusal = undefined;
    }
    expect(refusal).toMatchObject({ code: "api_key_expired" });
    expect(await keysOn(database).byIds([seeded.keyId])).toMatchObject([{ status: "expired" }]);
  });

  test("a provider chosen under older restrictions of the key is not paid", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { allowedModels: ["m"] });
    const holds = holdsOn(database);
    await holds.hold(requestFor(seeded, 1n, { restrictionsVersion: 1 }));
    await keysOn(database).update(seeded.account, seeded.keyId, {
      allowedModels: ["n"],
      trustMode: "private",
    });
    await expect(holds.hold(requestFor(seeded, 1n, { restrictionsVersion: 1 }))).rejects.toMatchObject({
      restrictions: {
        version: 2,
        models: ["n"],
        providers: [],
        trustMode: "private",
        providerEvidence: null,
      },
    });
    await holds.hold(requestFor(seeded, 1n, { restrictionsVersion: 2 }));
  });

  test("when admissions, settlements and changes of the key race, the limit holds and nothing deadlocks", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedLimited(database, { creditLimit: 300n });
    const services = [holdsOn(database), holdsOn(database)];
    const keys = keysOn(database);
    let charged = 0n;
    const calls = Array.from({ length: 200 }, async (_, n) => {
      const hold = requestFor(seeded, 5n);
      const held = await services[n % 2]?.hold(hold).catch(() => undefined);
      if (held === undefined) return;
      const cost = await services[n % 2]?.settle(settlementOf(hold.id, 3n));
      charged += cost ?? 0n;
    });
    const changes = Array.from({ length: 20 }, (_, n) =>
      keys.update(seeded.account, seeded.keyId, { resetPeriod: n % 2 ? "never" : "daily", name: `k${n}` }),
    );
    await Promise.all([...calls, ...changes]);
    expect(await usedOf(database, seeded)).toBe(charged);
    expect(charged).toBeLessThanOrEqual(300n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });
});
