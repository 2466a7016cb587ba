// @module-tag large
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import { verifyArchives } from "../../src/accounts/retention/archive-check.ts";
import { type RetentionPolicy, RetentionService } from "../../src/accounts/retention/retention.service.ts";
import { type UsageFilter, UsageService } from "../../src/accounts/usage/usage.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { startHugeCounts } from "../support/huge-counts.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const log = createLogger("silent");

/** As one process has it. */
function retentionOn(database: Database, policy: RetentionPolicy): RetentionService {
  return new RetentionService({
    ...{ database, log, policy },
    ledger: new LedgerService(database),
    rollups: new UsageRollups({ database, log }),
  });
}

async function seedTwo(database: Database) {
  return [await seedAccount(database, 1_000_000n), await seedAccount(database, 1_000_000n)] as const;
}

const numberOf = async (database: Database, sql: string) =>
  Number((await database.rows<{ n: string }>(`select (${sql})::text as n`))[0]?.n);

/** The lines of the archives of a kind, without their headers. */
function archivedLines(folder: string, kind: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(kind))
    .toSorted()
    .flatMap((name) =>
      gunzipSync(readFileSync(join(folder, name)))
        .toString()
        .trimEnd()
        .split("\n")
        .slice(1),
    );
}

describeDatabases("closing months", (kind) => {
  test("lists the months that a run closes, also those without rows", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedTwo(database);
    for (const ago of [4, 2]) await fillMonth(database, monthsAgo(ago), { seeded, requests: 4 });
    const retention = retentionOn(database, { requestsMonths: 1, ledgerMonths: 1, folder: newFolder() });
    const previewed = await retention.preview();
    expect(previewed).toHaveLength(6);
    expect(previewed).toContainEqual({ kind: "requests", month: monthsAgo(3), rows: 0 });
    expect(await retention.run()).toEqual(previewed);
  });

  test("lists a month with more rows than an int4 counts", async () => {
    const database = await openTestDatabase(kind);
    await fillMonth(database, monthsAgo(2), { seeded: await seedTwo(database), requests: 4 });
    const huge = await startHugeCounts(database);
    const rows = (sql: string, parameters?: readonly unknown[]) =>
      (sql.includes("'YYYY-MM') as month, count(*)") ? huge : database).rows(sql, parameters);
    const policy = { requestsMonths: 1, ledgerMonths: 1, folder: newFolder() };
    const counted = await retentionOn({ rows } as unknown as Database, policy).preview(new Date());
    expect(counted.map((month) => month.rows)).toEqual([3_000_000_004, 3_000_000_004]);
  });

  test("a run that is stopped while it looks for due months closes none of them, and the next one does", async () => {
    const database = await openTestDatabase(kind);
    await fillMonth(database, monthsAgo(2), { seeded: await seedTwo(database), requests: 4 });
    const retention = retentionOn(database, { requestsMonths: 1, ledgerMonths: 1, folder: newFolder() });
    const run = retention.run();
    retention.stop();
    expect(await run).toEqual([]);
    expect(await numberOf(database, "select count(*) from inference_request")).toBe(4);
    expect(await retention.run()).toHaveLength(2);
  });

  test("archives and removes what the policy does not keep, and balances, sums and verifications stay exact", async () => {
    const database = await openTestDatabase(kind);
    const folder = newFolder();
    const seeded = await seedTwo(database);
    for (const ago of [4, 3, 2, 1, 0])
      await fillMonth(database, monthsAgo(ago), { seeded, requests: ago === 0 ? 4 : 120 });
    const usage = new UsageService(database.reads);
    const read = () =>
      Promise.all(
        seeded.flatMap(({ account }) => [
          usage.stats(account, {}),
          usage.daily(account, {}, { byTrustMode: true }),
        ]),
      );
    const before = await read();
    const retention = retentionOn(database, { requestsMonths: 1, ledgerMonths: 2, folder });
    const due = [
      { kind: "requests", month: monthsAgo(4) },
      { kind: "requests", month: monthsAgo(3) },
      { kind: "requests", month: monthsAgo(2) },
      { kind: "ledger", month: monthsAgo(4) },
      { kind: "ledger", month: monthsAgo(3) },
    ];
    expect(await retention.due()).toEqual(due);
    const counted = due.map((month) => ({ ...month, rows: 120 }));
    expect(await retention.preview()).toEqual(counted);
    expect(await retention.run()).toEqual(counted);
    expect(await retention.due()).toEqual([]);
    expect(await retention.run()).toEqual([]);

    expect(await numberOf(database, "select count(*) from inference_request")).toBe(124);
    expect(await numberOf(database, "select count(*) from request_evidence")).toBe(12);
    expect(await numberOf(database, "select count(*) from ledger_transfer where cause <> 'deposit'")).toBe(
      244,
    );
    expect(await numberOf(database, "select count(*) from ledger_transfer where cause = 'deposit'")).toBe(2);
    expect(archivedLines(folder, "requests")).toHaveLength(360);
    expect(archivedLines(folder, "ledger")).toHaveLength(240);
    expect(await read()).toEqual(before);
    // The history ends with the oldest request that is kept.
    const history = await usage.history(seeded[0].account, {}, { first: 100 });
    expect(history).toMatchObject({ hasNextPage: false });
    expect(history.rows).toHaveLength(62);
    const start = (ago: number) => new Date(`${monthsAgo(ago)}-01T00:00:00Z`);
    const filters: UsageFilter[] = [
      ...[{}, { modelId: "model-1" }, { tag: { name: "team", value: 'a "quoted", text' } }],
      ...[{ from: start(1) }, { before: start(1) }, { from: start(4), before: start(3) }],
      ...[{ from: new Date(start(1).getTime() - 1_000) }, { before: new Date(start(0).getTime() - 1_000) }],
    ];
    for (const filter of filters) {
      const { rows } = await usage.history(seeded[0].account, filter, { first: 100 });
      expect(await usage.count(seeded[0].account, filter)).toBe(BigInt(rows.length));
    }
    const ledger = new LedgerService(database);
    expect(await ledger.verifyNew()).toMatchObject({ faults: [] });
    expect(await ledger.verify()).toMatchObject({ faults: [] });
    expect(await ledger.verifyNew()).toEqual({ faults: [], transfers: 0 });
    expect(await verifyArchives(database, folder)).toEqual({ faults: [], months: 5, rows: 600 });
  });

  test("a crash at any statement loses nothing and removes nothing twice", async () => {
    const database = await openTestDatabase(kind);
    const folder = newFolder();
    const seeded = await seedTwo(database);
    const month = monthsAgo(2);
    await fillMonth(database, month, { seeded, requests: 30 });
    const policy = { requestsMonths: 1, ledgerMonths: 1, folder };
    const before = await database.rows("select address, deposit, usage_count from account order by address");
    let crashes = 0;
    for (let at = 0; ; at++) {
      // Half of the crashes come after the statement was committed.
      const crashing = crashingAt(database, Math.floor(at / 2), at % 2 === 1);
      const failed = await retentionOn(crashing, policy)
        .run()
        .then(() => false)
        .catch((error: Error) => error.message === CRASH || Promise.reject(error));
      if (!failed) break;
      crashes++;
      expect(await findLedgerFaults(database)).toEqual([]);
      expect(
        await database.rows("select address, deposit, usage_count from account order by address"),
      ).toEqual(before);
      // Nothing is gone that is not in an archive.
      for (const [name, table] of [
        ["requests", "inference_request"],
        ["ledger", "ledger_transfer"],
      ] as const) {
        const left = await numberOf(
          database,
          `select count(*) from ${table} where created_at < date_trunc('month', now())
          and id::text <> all(select id::text from ledger_transfer where cause = 'deposit')`,
        );
        if (left < 30) expect(new Set(archivedLines(folder, name)).size).toBe(30);
      }
      // As after a minute without the process that crashed.
      await database.rows("delete from retention_lease");
    }
    expect(crashes).toBeGreaterThan(20);
    expect(await numberOf(database, "select count(*) from inference_request")).toBe(0);
    expect(await numberOf(database, "select count(*) from ledger_transfer where cause <> 'deposit'")).toBe(0);
    expect(await verifyArchives(database, folder)).toEqual({ faults: [], months: 2, rows: 60 });
    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [] });
  });

  test("a run keeps its lease while it verifies the ledger, and ends at once when it is stopped or loses the lease", async () => {
    const database = await openTestDatabase(kind);
    await fillMonth(database, monthsAgo(2), { seeded: await seedTwo(database), requests: 4 });
    const verifying = Promise.withResolvers<void>();
    const retention = new RetentionService({
      ...{ database, log, renewMs: 20 },
      policy: { requestsMonths: 1, ledgerMonths: 1, folder: newFolder() },
      // As one of a ledger that takes hours.
      ledger: {
        findFaults() {
          verifying.resolve();
          return new Promise(() => {});
        },
      },
      rollups: new UsageRollups({ database, log }),
    });
    const stopped = retention.run();
    await verifying.promise;
    await database.rows("update retention_lease set expires_at = now() - interval '1 second'");
    const isHeld = "select count(*) from retention_lease where expires_at > now()";
    await until(async () => (await numberOf(database, isHeld)) === 1);
    retention.stop();
    expect(await stopped).toEqual([]);
    const overtaken = retention.run();
    await until(async () => (await numberOf(database, isHeld)) === 1);
    await database.rows("update retention_lease set process_id = gen_random_uuid()");
    await expect(overtaken).rejects.toThrow("another process closes months now");
    // The other process has it still.
    expect(await numberOf(database, isHeld)).toBe(1);
  });

  test("a run that is stopped adds up the usage of no further account, and reads no archive back", async () => {
    const database = await openTestDatabase(kind);
    const policy = { requestsMonths: 1, ledgerMonths: 1, folder: newFolder() };
    await fillMonth(database, monthsAgo(2), { seeded: await seedTwo(database), requests: 4 });
    const runUntil = async (statement: string) => {
      const rows = (sql: string, parameters?: readonly unknown[]) => {
        if (sql.includes(statement)) retention.stop();
        return database.rows(sql, parameters);
      };
      const retention = retentionOn(replacing(database, "rows", rows), policy);
      expect(await retention.run()).toEqual([]);
    };
    await runUntil("insert into usage_rolled");
    expect(await numberOf(database, "select count(*) from usage_rolled where usage_number > 0")).toBe(1);
    await runUntil("left join request_evidence");
    expect(readdirSync(policy.folder)).toHaveLength(1);
    expect(await numberOf(database, "select count(*) from closed_month")).toBe(0);
    expect(await retentionOn(database, policy).run()).toHaveLength(2);
  });

  test("keeps what is young, open, or not paid as it should be, and what another process closes", async () => {
    const database = await openTestDatabase(kind);
    const folder = newFolder();
    const seeded = await seedTwo(database);
    await fillMonth(database, monthsAgo(3), { seeded, requests: 20 });
    const retention = retentionOn(database, { requestsMonths: 1, ledgerMonths: 1, folder });
    await database.rows(
      "insert into retention_lease (id, process_id, expires_at) values (1, gen_random_uuid(), now() + interval '1 hour')",
    );
    expect(await retention.run()).toEqual([]);
    await database.rows("delete from retention_lease");

    await database.rows("update account set deposit = deposit + 1");
    await expect(retention.run()).rejects.toThrow("the ledger has");
    expect(readdirSync(folder)).toEqual([]);
    await database.rows("update account set deposit = deposit - 1");

    const [running] = await database.rows<{ id: string }>(
      "select id from inference_request where usage_number = 1 limit 1",
    );
    await database.rows(
      `insert into hold (id, account, amount, from_credit, state, expires_at)
       select id, account, 0, 0, 'open', now() from inference_request where id = $1`,
      [running?.id],
    );
    await database.rows("update inference_request set status = 'running' where id = $1", [running?.id]);
    await retention.run();
    expect(await database.rows("select id from inference_request")).toEqual([running]);
    expect(await database.rows("select 1 from ledger_transfer where cause <> 'deposit'")).toEqual([]);
    await database.rows("update inference_request set status = 'completed' where id = $1", [running?.id]);
    await database.rows("update hold set state = 'released'");
  });

  test("the disk stays within a bound while months are filled and closed again and again", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedTwo(database);
    const policy = { requestsMonths: 1, ledgerMonths: 1, folder: newFolder() };
    const sizes: number[] = [];
    for (let ago = 14; ago >= 0; ago--) {
      await fillMonth(database, monthsAgo(ago), { seeded, requests: 1_000 });
      // As if that month were the current one.
      const now = new Date(`${monthsAgo(ago)}-28T00:00:00Z`);
      await retentionOn(database, policy).run(now);
      for (const table of TABLES) await database.pool.query(`vacuum ${table}`);
      const tables = TABLES.map((table) => `pg_total_relation_size('${table}')`).join(" + ");
      sizes.push(await numberOf(database, tables));
    }
    expect(await numberOf(database, "select count(*) from inference_request")).toBe(2_000);
    // Two months are kept while a third one is written and removed: no later month needs more than the first ones.
    const first = Math.max(...sizes.slice(0, 4));
    expect(Math.max(...sizes)).toBeLessThan(1.5 * first);
    expect(await verifyArchives(database, policy.folder)).toMatchObject({ faults: [], months: 26 });
  });

  test("only the closing may remove transfers, and a changed archive is found", async () => {
    const database = await openTestDatabase(kind);
    const folder = newFolder();
    const seeded = await seedTwo(database);
    for (const ago of [3, 2]) await fillMonth(database, monthsAgo(ago), { seeded, requests: 20 });
    await retentionOn(database, { requestsMonths: undefined, ledgerMonths: 2, folder }).run();
    expect(await numberOf(database, "select count(*) from inference_request")).toBe(40);
    await expect(database.rows("delete from ledger_transfer")).rejects.toThrow("never changed");
    await expect(database.rows("update ledger_transfer set amount = 1")).rejects.toThrow("never changed");
    expect(await verifyArchives(database, folder)).toMatchObject({ faults: [] });

    const [name = ""] = readdirSync(folder);
    const content = gunzipSync(readFileSync(join(folder, name))).toString();
    writeFileSync(join(folder, name), gzipSync(content.replace(/\n[^\n]*\n$/, "\n")));
    const { faults } = await verifyArchives(database, folder);
    expect(faults.map(({ fault }) => fault)).toEqual(
      expect.arrayContaining([
        "an archive was changed",
        "an opening balance is not the sum of the archived transfers",
      ]),
    );
  });
});

const TABLES = ["inference_request", "ledger_transfer", "request_evidence", "hold"];
const CRASH = "the process ended here";

/** A database that fails at its n-th statement or transaction, before it or after it was committed. */
function crashingAt(database: Database, n: number, isAfter: boolean): Database {
  let calls = 0;
  const crash = async <T>(work: () => Promise<T>): Promise<T> => {
    const isHere = calls++ === n;
    if (calls > n + 1 || (isHere && !isAfter)) throw new Error(CRASH);
    const result = await work();
    if (isHere) throw new Error(CRASH);
    return result;
  };
  return new Proxy(database, {
    get(target, name) {
      if (name === "rows")
        return (...given: Parameters<Database["rows"]>) => crash(() => target.rows(...given));
      if (name === "transaction")
        return (...given: Parameters<Database["transaction"]>) => crash(() => target.transaction(...given));
      return Reflect.get(target, name, target);
    },
  });
}

/** A database of which one method is another. */
function replacing(database: Database, replaced: keyof Database, method: unknown): Database {
  return new Proxy(database, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      if (name === replaced) return method;
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}
