// @module-tag medium
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { CountRemovedRequestsOfKeys } from "../../src/db/migrations/46-undercounted-keys.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";

async function migrate(database: Database): Promise<void> {
  const migration = new CountRemovedRequestsOfKeys(undefined as never, undefined as never);
  migration.up();
  for (const statement of migration.getQueries()) await database.rows(String(statement));
}

test("the requests of removed months count again for a key that an earlier version counted without them, and once", async () => {
  const database = await openTestDatabase("embedded");
  const log = createLogger("silent");
  const seeded = [await seedAccount(database, 1_000_000n), await seedAccount(database, 1_000_000n)];
  for (const ago of [3, 0]) await fillMonth(database, monthsAgo(ago), { seeded, requests: 40 });
  const ledger = new LedgerService(database);
  const retention = new RetentionService({
    ...{ database, log, ledger, rollups: new UsageRollups({ database, log }) },
    policy: { requestsMonths: 1, ledgerMonths: undefined, folder: newFolder() },
  });
  expect(await retention.run()).not.toEqual([]);
  const used = () => database.rows("select used::text as used from api_key order by id");
  const before = await used();
  // As the earlier version set it when the key lost its period.
  await database.rows(
    `update api_key k set used = (select sum(total_cost) from inference_request r where r.api_key_id = k.id)
     where id = $1::uuid`,
    [seeded[0]?.keyId],
  );
  expect((await ledger.verify()).faults).toMatchObject([{ subject: seeded[0]?.keyId }]);
  await migrate(database);
  expect((await ledger.verify()).faults).toEqual([]);
  await migrate(database);
  expect(await used()).toEqual(before);
});
