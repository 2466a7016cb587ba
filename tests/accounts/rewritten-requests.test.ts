// @module-tag medium
import { readdirSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { verifyArchives } from "../../src/accounts/retention/archive-check.ts";
import { RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";

test("a month is archived anew, with each request once, if the table was rewritten in another order meanwhile", async () => {
  const database = await openTestDatabase("embedded");
  const seeded = [await seedAccount(database, 1_000_000n)];
  await fillMonth(database, monthsAgo(3), { seeded, requests: 3_000 });
  const log = createLogger("silent");
  const folder = newFolder();
  const retention = new RetentionService({
    ...{ database, log, policy: { requestsMonths: 1, ledgerMonths: undefined, folder } },
    ledger: new LedgerService(database),
    rollups: new UsageRollups({ database, log }),
  });
  const rows = database.rows.bind(database);
  let slices = 0;
  const reads = vi.spyOn(database, "rows").mockImplementation(async (sql, parameters) => {
    if (sql.includes("r.ctid >=") && slices++ === 1)
      await database.pool.query("cluster inference_request using inference_request_pkey");
    return rows(sql, parameters);
  });
  onTestFinished(() => reads.mockRestore());
  await expect(retention.run()).rejects.toThrow("was rewritten");
  expect(slices).toBe(2);
  expect(readdirSync(folder)).toEqual([]);
  expect(await retention.run()).toMatchObject([{ kind: "requests", rows: 3_000 }, { rows: 0 }]);
  expect(await database.rows("select 1 from inference_request")).toEqual([]);
  expect(await verifyArchives(database, folder)).toMatchObject({ faults: [], months: 2, rows: 3_000 });
});
