// @module-tag medium
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { TagBudgetsService } from "../../src/accounts/budgets/tag-budgets.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import { RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { RESET_PERIODS } from "../../src/keys/api-keys/reset-period.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { bookDeposit, seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";

const log = createLogger("silent");
const HISTORIES = 6;
const STEPS = 60;
const STEP = fc.record({
  kind: fc.constantFrom(
    ...([
      "spend",
      "spend",
      "job",
      "late",
      "deposit",
      "keyPeriod",
      "keyPeriod",
      "budgetPeriod",
      "roll",
      "close",
    ] as const),
    ...(["verifyNew", "verifyNew", "verify"] as const),
  ),
  who: fc.nat({ max: 2 }),
  held: fc.bigInt({ min: 0n, max: 9n }),
  cost: fc.oneof(fc.bigInt({ min: 0n, max: 12n }), fc.bigInt({ min: 0n, max: 2_000n })),
  period: fc.constantFrom(...(["never", "never", ...RESET_PERIODS] as const)),
  outcome: fc.constantFrom("completed", "failed", "aborted"),
  isTagged: fc.boolean(),
});
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** Money for a few requests for each of three accounts, with months of history, and what happens to them. */
async function historyOn(database: Database) {
  const common = { database, log, committed: () => {} };
  const holds = [new HoldsService(common), new HoldsService(common)] as const;
  const stop = async () => {
    for (const one of holds) await one.stop();
  };
  onTestFinished(stop);
  const seeded = await Promise.all([1_000n, 300n, 300n].map((neuron) => seedAccount(database, neuron)));
  for (const ago of [4, 3, 2]) await fillMonth(database, monthsAgo(ago), { seeded, requests: 9 });
  const budgets = new TagBudgetsService({ ...common, clock: systemClock });
  const keys = new ApiKeyService({ ...common, clock: systemClock });
  const ledger = new LedgerService(database);
  const rollups = new UsageRollups({ database, log });
  const folder = newFolder();
  for (const { account } of seeded)
    await budgets.create(account, { name: "team", value: "search", creditLimit: 200n });
  let closed = 4;

  async function spend({ who, held, cost, isTagged, outcome, kind }: Step): Promise<void> {
    const [own, other] = holds;
    const account = seeded[who] ?? expect.unreachable();
    const request = requestFor(account, held, isTagged ? { tags: { team: "search" } } : {});
    const settlement = settlementOf(request.id, cost, {
      outcome,
      cache: { read: 10, write: 0, write1h: 0 },
    });
    if (kind === "job") {
      await own.commit(request, () => database.transaction((tx) => own.holdIn(tx, request)));
      await database.transaction((tx) => own.settleIn(tx, settlement));
      return;
    }
    await own.hold(request);
    if (kind === "late") {
      // Its process seems to be dead, and ends the request after all.
      await database.rows("update process_lease set expires_at = now() - interval '1 minute'");
      await other.sweep();
    }
    await own.settle(settlement);
  }

  return {
    ledger,
    stop,
    async take(step: Step): Promise<void> {
      const account = seeded[step.who] ?? expect.unreachable();
      switch (step.kind) {
        case "spend":
        case "job":
        case "late":
          // A balance, a limit or a budget that is not enough is a part of the history.
          return spend(step).catch((error) => expect(error).toBeInstanceOf(AppError));
        case "deposit":
          return database.transaction((tx) => bookDeposit(tx, account.account, 1n + step.cost));
        case "keyPeriod":
          await keys.update(account.account, account.keyId, { resetPeriod: step.period });
          return;
        case "budgetPeriod": {
          const [budget] = await budgets.list(account.account);
          if (budget) await budgets.update(account.account, budget.id, { resetPeriod: step.period });
          return;
        }
        case "roll":
          return void (await rollups.sweep(1));
        case "close": {
          if (closed < 2) return;
          // As if the next month were one that is over.
          const now = new Date(`${monthsAgo(closed - 2)}-01T00:00:00Z`);
          const policy = { requestsMonths: 1, ledgerMonths: 1, folder };
          await new RetentionService({ database, log, policy, ledger, rollups }).run(now);
          closed--;
          return;
        }
        case "verify":
          expect((await ledger.verify()).faults).toEqual([]);
          return;
        case "verifyNew":
          expect((await ledger.verifyNew())?.faults ?? []).toEqual([]);
          expect(await findLedgerFaults(database)).toEqual([]);
      }
    },
  };
}

describeDatabases("verifications of random histories", (kind) => {
  test.each(
    fc.sample(fc.array(STEP, { minLength: STEPS, maxLength: STEPS }), { seed: 1, numRuns: HISTORIES }),
  )("since the last time and in full agree after each step (%#)", async (...steps) => {
    const database = await openTestDatabase(kind);
    const history = await historyOn(database);
    for (const step of steps) await history.take(step);
    // An allotment that is idle would otherwise return to the ledger between the verifications that are compared.
    await history.stop();
    const stored = async () => ({
      accounts: await database.rows(
        "select account, deposit, credit, held from verified_account order by account",
      ),
      keys: await database.rows("select * from verified_key where cost <> 0 order by api_key_id"),
    });
    // Each kind of verification follows the other, and both store the same.
    expect((await history.ledger.verify()).faults).toEqual([]);
    const first = await stored();
    expect(await history.ledger.verifyNew()).toMatchObject({ faults: [] });
    expect(await stored()).toEqual(first);
  });
});
