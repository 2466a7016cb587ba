// @module-tag medium

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { UsageService } from "../../src/accounts/usage/usage.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { fillMonth } from "../support/fill-months.ts";
import { seedAccount } from "../support/seed.ts";
import { createServerDatabase, openPatiently } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";

describe.skipIf(!inject("postgresUrl"))("a server whose time zone has daylight saving time", () => {
  test("lists the requests of a part of a day that its clocks make an hour shorter", async () => {
    const url = await createServerDatabase();
    const admin = await openPatiently(url, 1);
    await admin.rows(`alter database ${new URL(url).pathname.slice(1)} set timezone = 'America/New_York'`);
    await admin.close();
    const database = await openPatiently(url, 4);
    try {
      const seeded = await seedAccount(database, 1_000_000n);
      // The clocks of New York were put forward at 07:00 UTC on the 8th.
      await fillMonth(database, "2026-03", { seeded: [seeded], requests: 1 });
      await database.rows(`
        update inference_request set model = 'rare', created_at = '2026-03-08T23:45:00Z',
          finished_at = '2026-03-08T23:45:02Z'`);
      // The newest 5,000 are read one by one.
      await fillMonth(database, "2026-04", { seeded: [seeded], requests: 5_100 });
      await new UsageRollups({ database, log: createLogger("silent") }).sweep(1);
      const filter = { modelId: "rare", from: new Date("2026-03-08T23:30:00Z") };
      const { rows } = await new UsageService(database.reads).history(seeded.account, filter, { first: 10 });
      expect(rows.map(({ id }) => id)).toEqual([1n]);
    } finally {
      await database.close();
    }
  });

  test("archives the times of requests and of their evidence in UTC", async () => {
    const url = await createServerDatabase();
    const admin = await openPatiently(url, 1);
    await admin.rows(`alter database ${new URL(url).pathname.slice(1)} set timezone = 'America/New_York'`);
    await admin.close();
    const database = await openPatiently(url, 4);
    try {
      const folder = newFolder();
      const seeded = await seedAccount(database, 1_000_000n);
      await fillMonth(database, "2026-03", { seeded: [seeded], requests: 20 });
      const log = createLogger("silent");
      const retention = new RetentionService({
        ...{
          database,
          log,
          ledger: new LedgerService(database),
          rollups: new UsageRollups({ database, log }),
        },
        policy: { requestsMonths: 1, ledgerMonths: undefined, folder },
      });
      await retention.run(new Date("2026-06-01T00:00:00Z"));
      const texts = readdirSync(folder).map((name) =>
        gunzipSync(readFileSync(join(folder, name))).toString(),
      );
      const times = texts.join("").match(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)/g) ?? [];
      // The evidence of two requests has a time of its own.
      expect(times.length).toBeGreaterThanOrEqual(20 * 2 + 2);
      expect(times.filter((time) => !time.endsWith("Z"))).toEqual([]);
    } finally {
      await database.close();
    }
  });
});
