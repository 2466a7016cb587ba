// @module-tag medium
import { expect, onTestFinished, test, vi } from "vitest";
import { findEndedLeases, releaseLost } from "../../src/accounts/allotments/leases.store.ts";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { TagBudgetsService } from "../../src/accounts/budgets/tag-budgets.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const log = createLogger("silent");
const TAGS = { team: "search" };

/** A process whose beats and sweeps the test makes, with a clock that it moves. */
function processOn(database: Database) {
  const clock = {
    nowMs: 0,
    now: () => new Date(clock.nowMs),
    monotonicMs: () => clock.nowMs,
    sleep: systemClock.sleep,
  };
  const holds = new HoldsService({ database, clock, log, committed: () => {}, isTimed: false });
  onTestFinished(() => holds.stop());
  return { holds, clock };
}

/** An account with a key that has a limit, and a budget for a tag. */
async function open(kind: "embedded" | "server", { neuron = 1_000n, limit = 800n, budget = 500n } = {}) {
  const database = await openTestDatabase(kind);
  const seeded = await seedAccount(database, neuron);
  const keys = new ApiKeyService({ database, clock: systemClock, committed: () => {} });
  const { key } = await keys.create(seeded.account, "limited", { creditLimit: limit });
  const budgets = new TagBudgetsService({ database, clock: systemClock, committed: () => {} });
  await budgets.create(seeded.account, { name: "team", value: "search", creditLimit: budget });
  const { holds, clock } = processOn(database);
  const admit = async (amount: bigint, more: Partial<HoldRequest> = {}) => {
    const request = requestFor({ ...seeded, keyId: key.id }, amount, { tags: TAGS, ...more });
    await holds.hold(request);
    return request.id;
  };
  const held = async () => {
    const [balance] = await new BalanceService(database).byAccounts([seeded.account]);
    const [budget] = await budgets.list(seeded.account);
    const [row] = await database.rows<{ held: string }>(
      "select held::text as held from api_key where id = $1",
      [key.id],
    );
    return { account: balance?.held, budget: budget?.held, key: BigInt(row?.held ?? -1) };
  };
  const totalOf = async () => (await new BalanceService(database).byAccounts([seeded.account]))[0]?.total;
  const used = async () => (await budgets.list(seeded.account))[0]?.used;
  return { database, seeded, holds, clock, admit, held, totalOf, used };
}

const NOTHING = { account: 0n, budget: 0n, key: 0n };

let endings = 0;

/** The leases of processes that were killed: over, as a sweeper has seen, whose next sweep is returned. */
async function seenLost(database: Database): Promise<() => Promise<number>> {
  await database.rows("update process_lease set expires_at = now() - $1::int * interval '1 second'", [
    ++endings,
  ]);
  const { holds, clock } = processOn(database);
  expect(await holds.sweep()).toBe(0);
  clock.nowMs = 3_999;
  expect(await holds.sweep()).toBe(0);
  clock.nowMs = 4_000;
  return () => holds.sweep();
}

/** Releases what processes hold that were killed. Resolves with the number of holds. */
const release = async (database: Database) => (await seenLost(database))();

/** How many statements wait for a lock. */
async function waiting(database: Database): Promise<number> {
  return (
    await database.rows(
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    )
  ).length;
}

function requestsIn(database: Database) {
  return database.rows<{ status: string; error: string | null; cost: string }>(
    `select status, error_code as error, total_cost::text as cost from inference_request order by created_at, id`,
  );
}

describeDatabases("the hold of a request with a budget", (kind) => {
  test("takes one statement, and with the lease of its process its money is free again, uncharged", async () => {
    const { database, admit, held, holds } = await open(kind);
    await admit(100n);
    await admit(50n);
    await holds.beat();
    expect(await held()).toEqual({ account: 150n, budget: 150n, key: 150n });
    expect(await release(database)).toBe(2);
    expect(await held()).toEqual(NOTHING);
    const failed = { status: "failed", error: "expired", cost: "0" };
    expect(await requestsIn(database)).toEqual([failed, failed]);
    expect(await holds.open()).toBe(0);
    expect(await database.rows("select 1 from process_lease")).toEqual([]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("whose process stops before the end of its request could be recorded pays for it then", async () => {
    const { database, holds, admit, held, totalOf, used } = await open(kind);
    const id = await admit(100n);
    vi.spyOn(database, "rows").mockRejectedValueOnce(new Error("the connection broke"));
    await expect(holds.settle(settlementOf(id, 60n))).rejects.toThrow("the connection broke");
    await holds.stop();
    expect([await held(), await totalOf(), await used()]).toEqual([NOTHING, 940n, 60n]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test.runIf(kind === "server")(
    "keeps the lease whose allotments are released while a beat waits, and none of them is used after it",
    async () => {
      const { database, holds, clock, seeded, admit } = await open(kind, { neuron: 10_000n });
      const admitShort = () => holds.hold(requestFor(seeded, 5n));
      await admit(100n);
      for (let n = 0; n < 4; n++) await admitShort();
      await holds.beat();
      const rows = vi.spyOn(database, "rows").mockClear();
      await admitShort();
      expect(rows).not.toHaveBeenCalled();
      await database.rows("update process_lease set expires_at = now() - interval '1 second'");
      clock.nowMs += 1_700;
      let beat: Promise<void> | undefined;
      await database.transaction(async (tx) => {
        expect(await releaseLost(tx, await findEndedLeases(tx, 1), 500)).toBe(1);
        beat = holds.beat();
        await until(async () => (await waiting(database)) === 1);
      });
      await beat;
      rows.mockClear();
      await admitShort();
      expect(rows).toHaveBeenCalled();
    },
  );

  test("stays while its process renews its lease, and while only another process died", async () => {
    const { database, admit, held, holds } = await open(kind);
    const id = await admit(100n);
    const other = processOn(database).holds;
    await other.beat();
    const { holds: sweeper, clock } = processOn(database);
    for (clock.nowMs = 0; clock.nowMs < 20_000; clock.nowMs += 1_000) {
      await holds.beat();
      await database.rows("update process_lease set expires_at = '2001-01-01' where id = $1::uuid", [
        other.processId,
      ]);
      await sweeper.sweep();
    }
    expect(await held()).toEqual({ account: 100n, budget: 100n, key: 100n });
    expect(await database.rows("select id::text as id from process_lease")).toEqual([
      { id: holds.processId },
    ]);
    expect(await holds.settle(settlementOf(id, 60n))).toBe(60n);
    expect(await held()).toEqual(NOTHING);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("that was lost while its process only slept is charged to what is left, once", async () => {
    const { database, admit, held, holds, totalOf, used } = await open(kind);
    const [first, second, third] = [await admit(100n), await admit(200n), await admit(200n)];
    expect(await release(database)).toBe(3);
    expect(await holds.settle(settlementOf(first, 70n))).toBe(70n);
    // Once: a repeated settlement finds nothing.
    await expect(holds.settleIn(database, settlementOf(first, 70n))).resolves.toBeUndefined();
    expect(await holds.settle(settlementOf(second, 0n, { outcome: "failed", errorCode: "gone" }))).toBe(0n);
    expect(await held()).toEqual(NOTHING);
    const meanwhile = await admit(300n);
    // 430 is left of the budget, of which 300 is held: the rest of the cost is the router's loss.
    expect(await holds.settle(settlementOf(third, 200n))).toBe(130n);
    expect(await holds.settle(settlementOf(meanwhile, 300n))).toBe(300n);
    expect(await totalOf()).toBe(500n);
    expect(await used()).toBe(500n);
    expect(await held()).toEqual(NOTHING);
    const rows = await requestsIn(database);
    expect(rows.map(({ status, cost }) => [status, cost])).toEqual([
      ["completed", "70"],
      ["failed", "0"],
      ["completed", "130"],
      ["completed", "300"],
    ]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("that is settled while it is released is charged once, whichever is first", async () => {
    const { database, admit, held, holds, totalOf } = await open(kind, {
      ...{ neuron: 10_000n, limit: 10_000n, budget: 10_000n },
    });
    for (let round = 0; round < 20; round++) {
      const ids = [await admit(10n), await admit(10n), await admit(10n)];
      const sweep = await seenLost(database);
      const settle = () => ids.map((id) => holds.settle(settlementOf(id, 7n)));
      const [released, ...charged] = await Promise.all(
        round % 2 ? [sweep(), ...settle()] : [...settle(), sweep()].toReversed(),
      );
      expect(released).toBeLessThanOrEqual(3);
      expect(charged).toEqual([7n, 7n, 7n]);
    }
    expect(await held()).toEqual(NOTHING);
    expect(await totalOf()).toBe(10_000n - 20n * 21n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of a deleted budget is released all the same, and one that any process may settle stays", async () => {
    const { database, seeded, admit, held, holds } = await open(kind);
    const job = requestFor(seeded, 20n, { tags: TAGS });
    await holds.commit(job, () => database.transaction((tx) => holds.holdIn(tx, job)));
    await admit(100n);
    const budgets = new TagBudgetsService({ database, clock: systemClock, committed: () => {} });
    const [budget] = await budgets.list(seeded.account);
    await budgets.delete(seeded.account, budget?.id ?? "");
    expect(await release(database)).toBe(1);
    expect(await held()).toEqual({ account: 20n, budget: undefined, key: 0n });
    expect(await database.transaction((tx) => holds.settleIn(tx, settlementOf(job.id, 20n)))).toBe(20n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });
});
