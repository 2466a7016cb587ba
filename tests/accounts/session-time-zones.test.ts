// @module-tag medium
import { describe, expect, inject, test } from "vitest";
import { UsageService } from "../../src/accounts/usage/usage.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { fillMonth } from "../support/fill-months.ts";
import { seedAccount } from "../support/seed.ts";
import { createServerDatabase, openPatiently } from "../support/servers/database.ts";

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
});
