// @module-tag large
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { type DatabaseConfig, openDatabase } from "../../src/db/open.ts";
import { seedAccount } from "../support/seed.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import type { Program } from "../support/servers/debian-package.ts";
import { findPgBouncer, startPgBouncer } from "../support/servers/pgbouncer.ts";

type Server = Extract<DatabaseConfig, { kind: "server" }>;

/** Fewer connections to the server than the processes have: most transactions run on one of another. */
const POOL_SIZE = 2;
const TRANSACTION = { pooler: "transaction" } as const;
const STATE = `select current_setting('statement_timeout') as "timeout", current_setting('application_name') as "name",
  (select count(*)::int from pg_prepared_statements) as "prepared",
  (select count(*)::int from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())) as "locks",
  (select count(*)::int from pg_listening_channels()) as "channels"`;

const found: Promise<Program | Error> = inject("postgresUrl")
  ? findPgBouncer().catch((error: Error) => error)
  : Promise.resolve(new Error("this machine has no PostgreSQL"));
const program = await found;
if (program instanceof Error) {
  console.warn(`!! PgBouncer is NOT tested: ${program.message.slice(0, 300)}`);
  if (process.env.REQUIRE_ALL) throw program;
}

describe.skipIf(program instanceof Error)("processes behind PgBouncer in transaction mode", () => {
  let pgBouncer: Program;
  beforeAll(() => {
    pgBouncer = program as Program;
  });

  /** A new database behind one, and a function to open it as another process would. */
  async function start() {
    const url = new URL(await createServerDatabase());
    const options = { port: Number(url.port), poolSize: POOL_SIZE, onEnd: onTestFinished };
    url.port = `${await startPgBouncer(pgBouncer, options)}`;
    return async (more: Partial<Server> = TRANSACTION) => {
      const database = await openDatabase({ kind: "server", url: url.href, poolSize: 4, ...more });
      onTestFinished(() => database.close());
      return database;
    };
  }

  test("migrate at once, run all kinds of statements side by side, and leave no state in a connection", async () => {
    const open = await start();
    const all = await Promise.all([open(), open(), open()]);
    for (let round = 0; round < 5; round++)
      expect(await Promise.all(all.flatMap((database, n) => runAll(database, n)))).toHaveLength(15);
    const [database] = all;
    await seedAccount(database, 1_000n);
    const states = await Promise.all(Array.from({ length: 8 }, () => database.rows(STATE)));
    for (const [state] of states)
      expect(state).toMatchObject({ timeout: "0", prepared: 0, locks: 0, channels: 0 });
    expect(await database.isReadOnly()).toBe(false);
  });

  test("statements keep their time limit, reads are cancelled, and neither disturbs others", async () => {
    const open = await start();
    const [database, other] = await Promise.all([
      open({ ...TRANSACTION, statementTimeoutMs: 1_000 }),
      open(),
    ]);
    const unavailable = { code: "unavailable" };
    await expect(database.rows("select pg_sleep(60)")).rejects.toMatchObject(unavailable);
    await expect(database.transaction((tx) => tx.rows("select pg_sleep(60)"))).rejects.toMatchObject(
      unavailable,
    );
    const leaving = new AbortController();
    const read = database.reads.rows("account", { text: "select pg_sleep(60)", values: [] }, leaving.signal);
    leaving.abort();
    await expect(read).rejects.toMatchObject(unavailable);
    expect(await Promise.all(runAll(other, 1))).toHaveLength(5);
    expect(await other.rows("select current_setting('statement_timeout') as value")).toEqual([
      { value: "0" },
    ]);
  });

  test("several hosts: the pooler of the primary is found", async () => {
    const open = await start();
    const [row] = await (await open()).rows<{ name: string }>("select current_database() as name");
    const url = new URL(inject("postgresUrl") ?? "");
    const port = await startPgBouncer(pgBouncer, {
      port: Number(url.port),
      poolSize: 1,
      onEnd: onTestFinished,
    });
    const hosts = `postgresql://postgres@127.0.0.1:1,127.0.0.1:${port}/${row?.name}`;
    const database = await open({ ...TRANSACTION, url: hosts });
    expect(await Promise.all(runAll(database, 1))).toHaveLength(5);
  });

  test("a start without DATABASE_POOLER is refused with the setting that is missing", async () => {
    const open = await start();
    await expect(open({ pooler: "none" })).rejects.toThrow(
      /^DATABASE_URL: .*unsupported startup parameter: statement_timeout.*DATABASE_POOLER=transaction/,
    );
  });
});

/** A statement, a transaction, prepared statements in one, an entity, and an expensive read. */
function runAll(database: Database, n: number): readonly Promise<unknown>[] {
  const sum = `select ${n} + $1::int as sum`;
  return [
    database.rows(sum, [1]),
    database.transaction(async (tx) => [await tx.rows(sum, [2]), await tx.rows("select pg_sleep(0.01)")]),
    database.statements(async ({ rows }) => [await rows(sum, [3]), await rows(`${sum}, 2 as two`, [4])]),
    database.em().getConnection().execute("select count(*) from account"),
    database.reads.rows(`account ${n}`, { text: sum, values: [5] }),
  ];
}
