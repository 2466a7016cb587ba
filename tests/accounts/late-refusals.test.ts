import { randomUUID } from "node:crypto";
import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { takeAllotments } from "../../src/accounts/allotments/take.store.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import type { Database, Queries } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

/** A process as in production, but without a bus: it reads recalls every half second. */
function processOn(database: Database): HoldsService {
  const holds = new HoldsService({ database, log: createLogger("silent"), committed: () => {} });
  onTestFinished(() => holds.stop());
  return holds;
}

/** The next statement that takes an allotment keeps its locks until `commit`; `isTaken` once it has them. */
function delayTake(database: Database) {
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
  const { rows } = database;
  let isTaken = false;
  const spied = vi.spyOn(database, "rows").mockImplementation((sql, parameters) => {
    if (isTaken || !sql.includes("'take:'")) return rows.call(database, sql, parameters);
    return database.transaction(async (tx) => {
      const answer = await tx.rows(sql, parameters);
      isTaken = true;
      await committed;
      return answer;
    });
  });
  onTestFinished(() => spied.mockRestore());
  return { commit, isTaken: () => isTaken };
}

describe.skipIf(!inject("postgresUrl"))("a hold that waited for the lock of its account", () => {
  test("is not refused for money that an allotment took meanwhile in advance", async () => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 1_000n);
    const [holder, other] = [processOn(database), processOn(database)];
    const take = delayTake(database);
    const small = requestFor(seeded, 100n);
    const held = holder.hold(small);
    await until(take.isTaken);
    const large = requestFor(seeded, 850n);
    const placed = other.commit(large, () => database.transaction((tx) => other.holdIn(tx, large)));
    await until(async () => (await database.rows("select 1 from pg_locks where not granted")).length > 0);
    take.commit();
    expect(await held).toBe(100n);
    expect(await placed).toBe(850n);
    await holder.settle(settlementOf(small.id, 100n));
    await database.transaction((tx) => other.settleIn(tx, settlementOf(large.id, 850n)));
  });
});

test.skipIf(!inject("postgresUrl"))(
  "an allotment that waited for the lock of its account says that money may lie elsewhere",
  async () => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 1_000n);
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    const { promise: hasLocks, resolve: taken } = Promise.withResolvers<void>();
    const take = (queries: Queries, minimum: bigint, extra: bigint) => {
      const request = requestFor(seeded, minimum);
      const needs = new Map([[request.keyId, { allotmentId: undefined, reserved: 0n, extra }]]);
      return takeAllotments(queries, randomUUID(), [request], needs);
    };
    const first = database.transaction(async (tx) => {
      const answers = await take(tx, 100n, 100n);
      taken();
      await committed;
      return answers;
    });
    await hasLocks;
    const second = take(database, 950n, 0n);
    await until(async () => (await database.rows("select 1 from pg_locks where not granted")).length > 0);
    commit();
    expect((await first)[0]?.granted).toBe(100n);
    expect((await second)[0]).toMatchObject({ granted: undefined, isElsewhere: true });
  },
);
