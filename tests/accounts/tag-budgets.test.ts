// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { TagBudgetsService } from "../../src/accounts/budgets/tag-budgets.service.ts";
import {
  countBudgetChange,
  insertBudget,
  lockBudgets,
  recountBudget,
} from "../../src/accounts/budgets/tag-budgets.store.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const log = createLogger("silent");
const SEARCH = { name: "team", value: "search" };
const OVER = { code: "credit_limit_exceeded" };

/** As one process has them. */
function holdsOn(database: Database): HoldsService {
  const holds = new HoldsService({ database, log, committed: () => {} });
  onTestFinished(() => holds.stop());
  return holds;
}

function budgetsOn(database: Database): TagBudgetsService {
  return new TagBudgetsService({ database, clock: systemClock, committed: () => {} });
}

function tagged(seeded: Seeded, neuron: bigint, more: Partial<HoldRequest> = {}): HoldRequest {
  return requestFor(seeded, neuron, { tags: { team: "search" }, ...more });
}

async function usedOf(database: Database, { account }: Seeded) {
  const [budget] = await budgetsOn(database).list(account);
  return budget && { used: budget.used, held: budget.held };
}

/** A request of this cost, from its admission to its end. */
async function spend(holds: HoldsService, request: HoldRequest, neuron: bigint): Promise<bigint> {
  await holds.hold(request);
  return holds.settle(settlementOf(request.id, neuron));
}

/** Resolves when this many statements wait for a lock. */
function untilBlocked(database: Database, count: number): Promise<boolean> {
  return until(
    async () =>
      (await database.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock'")).length >= count,
  );
}

describe.skipIf(!inject("postgresUrl"))("statements that began before a budget was created", () => {
  test("count in it if they end requests, and admit none by what they read", async () => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 1_000_000n);
    const [one, two, three] = [holdsOn(database), holdsOn(database), holdsOn(database)];
    const [covered, exceeding, job] = [tagged(seeded, 10n), tagged(seeded, 10n), tagged(seeded, 10n)];
    await one.hold(covered);
    await two.hold(exceeding);
    await one.commit(job, () => database.transaction((tx) => one.holdIn(tx, job)));
    const late = [tagged(seeded, 1n), tagged(seeded, 1n)] as const;
    const { settled, admitted } = await database.transaction(async (tx) => {
      await lockBudgets(tx, seeded.account);
      const settled = [
        one.settle(settlementOf(covered.id, 10n)),
        two.settle(settlementOf(exceeding.id, 30n)),
        // The statement of a job's end, which its worker repeats.
        until(async () => (await three.settleIn(database, settlementOf(job.id, 10n))) === 10n),
      ];
      const admitted = Promise.allSettled([
        three.hold(late[0]),
        three.commit(late[1], () => three.holdIn(database, late[1])),
      ]);
      await untilBlocked(database, 5);
      const id = newId();
      await insertBudget(tx, seeded.account, id, { ...SEARCH, creditLimit: 0n, resetPeriod: "never" });
      await countBudgetChange(tx, seeded.account);
      await recountBudget(tx, seeded.account, id);
      return { settled, admitted };
    });
    expect((await Promise.all(settled)).slice(0, 2)).toEqual([10n, 30n]);
    for (const answer of await admitted) expect(answer).toMatchObject({ status: "rejected", reason: OVER });
    expect(await usedOf(database, seeded)).toEqual({ used: 50n, held: 0n });
    for (const holds of [one, two, three]) await holds.stop();
    expect(await findLedgerFaults(database)).toEqual([]);
  });
});

describeDatabases("the budget of a tag", (kind) => {
  test("of 200 parallel requests of two keys and two processes on a budget for 50, 50 are admitted", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000_000n);
    const services = [holdsOn(database), holdsOn(database)];
    // Both have allotments by which they would admit without asking.
    for (const holds of services) await spend(holds, tagged(seeded, 1n), 1n);
    const { id } = await budgetsOn(database).create(seeded.account, { ...SEARCH, creditLimit: 352n });
    const keys = new ApiKeyService({ database, clock: systemClock, committed: () => {} });
    const { key } = await keys.create(seeded.account, "other");
    const asked = Array.from({ length: 200 }, (_, n) =>
      tagged({ ...seeded, keyId: n % 3 ? seeded.keyId : key.id }, 7n),
    );
    const answers = await Promise.allSettled(asked.map((request, n) => services[n % 2]?.hold(request)));
    const granted = asked.flatMap((request, n) =>
      answers[n]?.status === "fulfilled" ? [{ id: request.id, holds: services[n % 2] }] : [],
    );
    expect(granted).toHaveLength(50);
    for (const answer of answers) if (answer.status === "rejected") expect(answer.reason).toMatchObject(OVER);
    expect(await usedOf(database, seeded)).toEqual({ used: 2n, held: 350n });
    await Promise.all(granted.map((one) => one.holds?.settle(settlementOf(one.id, 7n))));
    expect(await usedOf(database, seeded)).toEqual({ used: 352n, held: 0n });
    await expect(services[0]?.hold(tagged(seeded, 1n))).rejects.toMatchObject({
      ...OVER,
      message: expect.stringContaining("team=search"),
    });
    await budgetsOn(database).update(seeded.account, id, { creditLimit: 353n });
    expect(await services[1]?.hold(tagged(seeded, 0n, { minimum: 1n, maximum: 100n }))).toBe(1n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a request that is admitted while the budget is created counts, and none is admitted without it after", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000_000n);
    const services = [holdsOn(database), holdsOn(database)];
    let isCreated = false;
    let spentAfter = 0n;
    let total = 0n;
    const work = services.map(async (holds) => {
      for (let n = 0; n < 40; n++) {
        const wasCreated = isCreated;
        await spend(holds, tagged(seeded, 10n), 10n).then(
          (charged) => {
            total += charged;
            if (wasCreated) spentAfter += charged;
          },
          (error) => expect(error).toMatchObject(OVER),
        );
      }
    });
    await until(async () => total > 50n);
    await budgetsOn(database).create(seeded.account, { ...SEARCH, creditLimit: 0n });
    isCreated = true;
    await Promise.all(work);
    expect(spentAfter).toBe(0n);
    expect(await usedOf(database, seeded)).toEqual({ used: total, held: 0n });
    for (const holds of services) await holds.stop();
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a new budget has used what its tag spent, whether that is in the stored sums or not", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000_000n);
    const other = await seedAccount(database, 1_000_000n);
    const holds = holdsOn(database);
    await spend(holds, tagged(seeded, 10n), 10n);
    await new UsageRollups({ database, log }).sweep(1);
    await spend(holds, tagged(seeded, 5n), 5n);
    await spend(holds, tagged(seeded, 5n, { tags: { team: "ads", other: "search" } }), 5n);
    await spend(holds, tagged(other, 100n), 100n);
    await budgetsOn(database).create(seeded.account, { ...SEARCH, creditLimit: 100n });
    await budgetsOn(database).create(seeded.account, { ...SEARCH, value: "ads", creditLimit: 5n });
    const budgets = await budgetsOn(database).list(seeded.account);
    expect(budgets.map(({ value, used }) => [value, used])).toEqual([
      ["search", 15n],
      ["ads", 5n],
    ]);
    // Another account's budget does not limit this one's requests, and another value is not limited.
    expect(await spend(holds, tagged(other, 200n), 200n)).toBe(200n);
    expect(await spend(holds, tagged(seeded, 200n, { tags: { team: "mail" } }), 200n)).toBe(200n);
    await expect(holds.hold(tagged(seeded, 86n))).rejects.toMatchObject(OVER);
    await expect(holds.hold(tagged(seeded, 1n, { tags: { team: "ads" } }))).rejects.toMatchObject(OVER);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a request with several budgets is limited by each, and charged to each in all four endings", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000_000n);
    const holds = holdsOn(database);
    const budgets = budgetsOn(database);
    await budgets.create(seeded.account, { ...SEARCH, creditLimit: 100n });
    await budgets.create(seeded.account, { name: "env", value: "prod", creditLimit: 40n });
    const tags = { team: "search", env: "prod", user: "7" };
    const partial = tagged(seeded, 0n, { minimum: 1n, maximum: 90n, tags });
    expect(await holds.hold(partial)).toBe(40n);
    await expect(holds.hold(tagged(seeded, 1n, { tags }))).rejects.toMatchObject({
      message: expect.stringContaining("env=prod"),
    });
    // 65 of `team` are left, and 5 of `env`: what exceeds the hold is charged up to there.
    expect(await holds.settle(settlementOf(partial.id, 15n))).toBe(15n);
    const endings = [
      ["completed", 5n, 5n],
      ["aborted", 7n, 7n],
      ["failed", 0n, 0n],
      ["completed", 30n, 13n],
    ] as const;
    for (const [outcome, cost, charged] of endings) {
      const request = tagged(seeded, 9n, { tags });
      await holds.hold(request);
      expect(await holds.settle(settlementOf(request.id, cost, { outcome }))).toBe(charged);
    }
    const used = (await budgets.list(seeded.account)).map((budget) => [budget.used, budget.held]);
    expect(used).toEqual([
      [40n, 0n],
      [40n, 0n],
    ]);
    await expect(holds.hold(tagged(seeded, 1n, { tags }))).rejects.toMatchObject(OVER);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test.each([
    ["daily", "1 day"],
    ["weekly", "7 days"],
    ["monthly", "31 days"],
  ] as const)("a %s budget is reset in the next period", async (resetPeriod, interval) => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000_000n);
    const holds = holdsOn(database);
    await budgetsOn(database).create(seeded.account, { ...SEARCH, creditLimit: 10n, resetPeriod });
    await spend(holds, tagged(seeded, 10n), 10n);
    await expect(holds.hold(tagged(seeded, 1n))).rejects.toMatchObject(OVER);
    await database.rows("update tag_budget set spent_at = spent_at - $1::text::interval returning id", [
      interval,
    ]);
    expect(await usedOf(database, seeded)).toEqual({ used: 0n, held: 0n });
    expect(await spend(holds, tagged(seeded, 10n), 4n)).toBe(4n);
    expect(await usedOf(database, seeded)).toEqual({ used: 4n, held: 0n });
  });

  test("a job's hold counts, a hold that expires is returned, and a deleted budget limits nothing", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000_000n);
    const holds = holdsOn(database);
    const budgets = budgetsOn(database);
    const { id } = await budgets.create(seeded.account, { ...SEARCH, creditLimit: 10n });
    const job = tagged(seeded, 6n);
    await holds.commit(job, () => database.transaction((tx) => holds.holdIn(tx, job)));
    const lost = tagged(seeded, 4n);
    await holds.hold(lost);
    await expect(holds.hold(tagged(seeded, 1n))).rejects.toMatchObject(OVER);
    await database.rows("update hold set expires_at = now() - interval '1 second' where id = $1", [lost.id]);
    expect(await holds.sweep()).toBe(1);
    expect(await usedOf(database, seeded)).toEqual({ used: 0n, held: 6n });
    expect(await holds.settle(settlementOf(lost.id, 4n))).toBe(0n);
    const running = tagged(seeded, 4n);
    await holds.hold(running);
    await budgets.delete(seeded.account, id);
    expect(await spend(holds, tagged(seeded, 50n), 50n)).toBe(50n);
    await database.transaction((tx) => holds.settleIn(tx, settlementOf(job.id, 6n)));
    expect(await holds.settle(settlementOf(running.id, 4n))).toBe(4n);
    await budgets.create(seeded.account, { ...SEARCH, creditLimit: 10n });
    expect(await usedOf(database, seeded)).toEqual({ used: 60n, held: 0n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("a budget is refused for a tag that has one, for other accounts, and for an invalid tag or limit", async () => {
    const database = await openTestDatabase(kind);
    const [seeded, other] = [await seedAccount(database, 1n), await seedAccount(database, 1n)];
    const budgets = budgetsOn(database);
    const { id } = await budgets.create(seeded.account, { ...SEARCH, creditLimit: 1n });
    await expect(budgets.create(seeded.account, { ...SEARCH, creditLimit: 2n })).rejects.toMatchObject({
      code: "duplicate_tag_budget",
    });
    const missing = { code: "tag_budget_not_found" };
    for (const unknown of [id.replace(/^./, (digit) => (digit === "0" ? "1" : "0")), "x"])
      await expect(budgets.delete(seeded.account, unknown)).rejects.toMatchObject(missing);
    await expect(budgets.get(other.account, id)).rejects.toMatchObject(missing);
    await expect(budgets.update(other.account, id, { creditLimit: 9n })).rejects.toMatchObject(missing);
    await expect(budgets.delete(other.account, id)).rejects.toMatchObject(missing);
    expect(await budgets.list(other.account)).toEqual([]);
    const invalid = { code: "invalid_parameter" };
    for (const tag of [
      { name: "", value: "a" },
      { name: "__proto__", value: "a" },
      { name: "a", value: "b\n" },
    ])
      await expect(budgets.create(seeded.account, { ...tag, creditLimit: 1n })).rejects.toMatchObject(
        invalid,
      );
    await expect(budgets.update(seeded.account, id, { creditLimit: -1n })).rejects.toMatchObject(invalid);
  });
});
