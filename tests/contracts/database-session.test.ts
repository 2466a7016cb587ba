// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { limitStatements } from "../../src/db/server/statement-timeout.ts";
import { ApiKeyRow } from "../../src/keys/api-keys/api-key.row.ts";
import { seedAccount } from "../support/seed.ts";
import { createServerDatabase } from "../support/servers/database.ts";

const PATIENT = { poolSize: 4, patienceMs: 120_000 } as const;

/** A database whose sessions begin with these settings. */
async function withDefaults(settings: Readonly<Record<string, string>>): Promise<string> {
  const url = await createServerDatabase();
  const client = new pg.Client(url);
  await client.connect();
  for (const [name, value] of Object.entries(settings))
    await client.query(`alter database ${new URL(url).pathname.slice(1)} set ${name} = '${value}'`);
  await client.end();
  return url;
}

async function open(url: string): Promise<Database> {
  const database = await openDatabase({ kind: "server", url, ...PATIENT });
  onTestFinished(() => database.close());
  return database;
}

const severalHosts = (url: string) => {
  const { host, pathname } = new URL(url);
  return `postgresql://postgres@${host},${host}${pathname}`;
};

describe.skipIf(!inject("postgresUrl"))("sessions of a database with defaults of its own", () => {
  test.each([
    ["one host", (url: string) => url],
    ["several hosts", severalHosts],
  ] as const)("times are read as they were stored, with %s", async (_, addressOf) => {
    const url = await withDefaults({ datestyle: "German", intervalstyle: "sql_standard" });
    const database = await open(addressOf(url));
    const { keyId } = await seedAccount(database, 1_000n);
    const { createdAt } = await database.em().findOneOrFail(ApiKeyRow, { id: keyId });
    expect(Math.abs(createdAt.getTime() - Date.now())).toBeLessThan(3_600_000);
  });

  test.each([
    ["one host", (url: string) => url],
    ["several hosts", severalHosts],
  ] as const)("concurrent changes of one row wait for each other, with %s", async (_, addressOf) => {
    const database = await open(
      addressOf(await withDefaults({ default_transaction_isolation: "serializable" })),
    );
    const { account } = await seedAccount(database, 1_000n);
    const change = () =>
      database.transaction(async (tx) => {
        // Each takes its snapshot before the other commits.
        await tx.rows("select 1 from account");
        await tx.rows("select pg_sleep(0.05)");
        await tx.rows("update account set credit = credit where address = $1", [account]);
      });
    await Promise.all([change(), change(), change(), change()]);
    expect(await database.rows("show transaction_isolation")).toEqual([
      { transaction_isolation: "read committed" },
    ]);
    expect(
      await database.reads.rows(account, {
        text: "select current_setting('transaction_isolation') as now",
        values: [],
      }),
    ).toEqual([{ now: "read committed" }]);
  });

  test.each([
    ["default_transaction_isolation", "serializable", "read committed"],
    ["datestyle", "German, DMY", "ISO"],
  ])("a pooler whose sessions have another %s is refused with what to do", async (name, value, wanted) => {
    const url = await withDefaults({ [name]: value });
    await expect(openDatabase({ kind: "server", url, ...PATIENT, pooler: "transaction" })).rejects.toThrow(
      new RegExp(`^DATABASE_URL: .* \\(${name} is '${value}': .* alter role .* = '${wanted}'`, "i"),
    );
  });
});

test.skipIf(!inject("postgresUrl"))(
  "a setting that a session refuses keeps none of the pool's sessions in use",
  async () => {
    const pool = new pg.Pool({ connectionString: await createServerDatabase() });
    const clients = await Promise.all([pool.connect(), pool.connect()]);
    for (const client of clients) client.release();
    await expect(limitStatements(pool, -1)).rejects.toThrow("statement_timeout");
    // Otherwise the pool would never end, and neither would a process that cannot start.
    const ended = pool.end().then(() => "ended");
    expect(await Promise.race([ended, sleep(5_000, "in use")])).toBe("ended");
  },
);
