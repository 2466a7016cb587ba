import { expect, onTestFinished, test, vi } from "vitest";
import { findEndedLeases, releaseLost } from "../../src/accounts/allotments/leases.store.ts";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { OrphanedHolds } from "../../src/accounts/orphaned-holds.ts";
import { failedSettlement } from "../../src/accounts/settlements.store.ts";
import type { Database } from "../../src/db/database.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const log = createLogger("silent");

test("a process that stops charges what it delivered, also if its allotment was lost meanwhile", async () => {
  const database = await openTestDatabase("embedded");
  const seeded = await seedAccount(database, 1_000n);
  const holds = new HoldsService({ ...{ database, log, committed: () => {} }, isTimed: false });
  const request = requestFor(seeded, 100n);
  await holds.hold(request);
  const rows = database.rows.bind(database);
  const settlements = vi.spyOn(database, "rows").mockImplementation(async (sql, parameters) => {
    if (!sql.includes("refuse_settlement")) return rows(sql, parameters);
    throw new AppError("unavailable", "The database is unreachable. Try again later.");
  });
  onTestFinished(() => settlements.mockRestore());
  await expect(holds.settle(settlementOf(request.id, 60n))).rejects.toMatchObject({ code: "unavailable" });
  await rows("update process_lease set expires_at = now() - interval '1 second'");
  expect(await releaseLost(database, await findEndedLeases(database, 10), 10)).toBe(1);
  await expect(holds.beat()).rejects.toMatchObject({ code: "unavailable" });
  settlements.mockRestore();
  await holds.stop();
  expect(await new BalanceService(database).byAccount(seeded.account)).toMatchObject({
    total: 940n,
    held: 0n,
  });
});

/** Holds that an outage orphaned, over a database that answers with `answer`, and how many holds each statement ended. */
function orphansOver(answer: (holds: number) => Promise<readonly unknown[]>) {
  const ended: number[] = [];
  const queries = {
    rows: async (_sql: string, [requested]: readonly unknown[] = []) => {
      const holds = (JSON.parse(String(requested)) as readonly unknown[]).length;
      ended.push(holds);
      return answer(holds);
    },
  } as unknown as Database;
  return { orphans: new OrphanedHolds({ queries, log, committed: () => {} }), ended };
}

test("all orphaned holds are ended when a process stops, in statements of at most 500", async () => {
  const { orphans, ended } = orphansOver(async (holds) =>
    Array.from({ length: holds }, () => ({ charged: "0" })),
  );
  for (let n = 0; n < 1_200; n++) orphans.add(failedSettlement(`request-${n}`, "unavailable"));
  await orphans.stop();
  expect(ended).toEqual([500, 500, 200]);
});

test("orphaned holds are looked for once at a time, however slow the database is", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const late = Promise.withResolvers<readonly unknown[]>();
  const { orphans, ended } = orphansOver(() => late.promise);
  orphans.add(failedSettlement("request-1", "unavailable"));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(ended).toEqual([1]);
  late.resolve([{ charged: "0" }]);
  await orphans.stop();
});
