import { describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { rollUpProviders } from "../../src/accounts/usage/provider-usage.store.ts";
import { UsageService } from "../../src/accounts/usage/usage.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const log = createLogger("silent");

/** How many requests of an account the sums by provider have, with those that are not in the stored ones yet. */
async function countByProvider(database: Database, { account }: Seeded): Promise<bigint> {
  const division = { grain: "month", groups: ["provider"] } as const;
  const buckets = await new UsageService(database.reads).buckets(account, {}, division);
  return buckets.reduce((sum, { requests }) => sum + requests, 0n);
}

/** A schema in whose `usage_provider_rolled` a statement waits for `open` before it locks a row. */
async function createGate(database: Database) {
  const GATE = 7_260_814_099;
  const gatekeeper = await database.pool.connect();
  await gatekeeper.query(`select pg_advisory_lock(${GATE})`);
  await database.rows("create schema gate");
  await database.rows(`
    create function gate.pass() returns boolean language plpgsql volatile as $$
    begin
      perform pg_advisory_xact_lock_shared(${GATE});
      return true;
    end $$`);
  await database.rows(
    "create view gate.usage_provider_rolled as select * from public.usage_provider_rolled where gate.pass()",
  );
  return {
    isAwaited: async () =>
      (await database.rows("select 1 from pg_locks where locktype = 'advisory' and not granted")).length > 0,
    open: async () => {
      await gatekeeper.query(`select pg_advisory_unlock(${GATE})`);
    },
    async remove() {
      gatekeeper.release(true);
      await database.rows("drop schema gate cascade");
    },
  };
}

describe.skipIf(!inject("postgresUrl"))("sums by provider", () => {
  test("have each request once, if a process that is slow to lock them began before another one moved them on", async () => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 1_000_000n);
    const { account } = seeded;
    await fillMonth(database, monthsAgo(2), { seeded: [seeded], requests: 10 });
    expect(await rollUpProviders(database, account, 100)).toBe(10);
    const gate = await createGate(database);
    try {
      const slow = database.transaction(async (tx) => {
        await tx.rows("set local search_path = gate, public");
        return rollUpProviders(tx, account, 100);
      });
      await until(gate.isAwaited);
      await fillMonth(database, monthsAgo(1), { seeded: [seeded], requests: 10 });
      expect(await rollUpProviders(database, account, 100)).toBe(10);
      await gate.open();
      expect(await slow).toBe(0);
    } finally {
      await gate.remove();
    }
    expect(await rollUpProviders(database, account, 100)).toBe(0);
    expect(await countByProvider(database, seeded)).toBe(20n);
  });

  test("have the requests of a closed month, also if another process was adding them when the month was closed", async () => {
    const database = await openTestDatabase("server");
    const seeded = await seedAccount(database, 1_000_000n);
    const { account } = seeded;
    await fillMonth(database, monthsAgo(4), { seeded: [seeded], requests: 20 });
    await rollUpProviders(database, account, 5);
    const retention = new RetentionService({
      ...{ database, log, policy: { requestsMonths: 1, ledgerMonths: undefined, folder: newFolder() } },
      ledger: new LedgerService(database),
      rollups: new UsageRollups({ database, log }),
    });
    await database.transaction(async (tx) => {
      await tx.rows("select 1 from usage_provider_rolled where account = $1 for update", [account]);
      const closed = await retention.run(new Date(`${monthsAgo(2)}-28T00:00:00Z`));
      expect(closed).toEqual([{ kind: "requests", month: monthsAgo(4), rows: 5 }]);
    });
    // What was left is removed with the next month.
    expect(await retention.run()).toMatchObject([{ month: monthsAgo(3), rows: 15 }, { rows: 0 }]);
    expect(await database.rows("select 1 from inference_request")).toEqual([]);
    expect(await countByProvider(database, seeded)).toBe(20n);
  });
});
