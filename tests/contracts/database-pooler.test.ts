// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { type DatabaseConfig, openDatabase } from "../../src/db/open.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { startTransactionPooler } from "../support/servers/transaction-pooler.ts";

type Server = Extract<DatabaseConfig, { kind: "server" }>;

/** A new database behind a pooler with one connection, and a function to open it as another process would. */
async function start(ignores: readonly string[] = []) {
  const url = new URL(await createServerDatabase());
  const port = Number(url.port);
  const pooler = await startTransactionPooler({ port, database: url.pathname.slice(1), ignores });
  onTestFinished(() => pooler.close());
  url.port = `${pooler.port}`;
  return async (options: Partial<Server> = {}) => {
    const database = await openDatabase({ kind: "server", url: url.href, poolSize: 4, ...options });
    onTestFinished(() => database.close());
    return database;
  };
}

const statements = Array.from({ length: 8 }, (_, n) => ({ sql: `select ${n} + $1::int as sum`, n }));
const sums = (rows: readonly (readonly { sum: number }[])[]) => rows.map(([row]) => row?.sum);

describe.skipIf(!inject("postgresUrl"))("processes behind a pooler in transaction mode", () => {
  for (const [name, options, ignores] of [
    ["that is configured", { pooler: "transaction" }, []],
    ["that is not", {}, ["statement_timeout"]],
  ] as const)
    test(`migrate at once and each run their own statements over one connection, with a pooler ${name}`, async () => {
      const open = await start(ignores);
      const [one, other] = await Promise.all([open(options), open(options)]);
      const backwards = statements.toReversed();
      for (let round = 0; round < 3; round++) {
        const [first, second] = await Promise.all([
          Promise.all(statements.map(({ sql }) => one.rows<{ sum: number }>(sql, [round]))),
          Promise.all(backwards.map(({ sql }) => other.rows<{ sum: number }>(sql, [round]))),
        ]);
        expect(sums(first)).toEqual(statements.map(({ n }) => n + round));
        expect(sums(second)).toEqual(backwards.map(({ n }) => n + round));
      }
      // Of this database alone: other tests use the same server.
      const left = `select count(*)::int as locks from pg_locks
        where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
      expect(await one.rows(left)).toEqual([{ locks: 0 }]);
    });

  test("a transaction that may be repeated is, with a pooler that is not configured, and any other fails for once", async () => {
    const open = await start(["statement_timeout"]);
    const [first, one, other] = [await open(), await open(), await open()];
    const sql = "select 1 + $1::int as sum";
    expect(await first.rows(sql, [1])).toEqual([{ sum: 2 }]);
    let attempts = 0;
    const sum = await one.repeatable((queries) => {
      attempts++;
      return queries.rows<{ sum: number }>(sql, [2]);
    });
    expect([attempts, sum]).toEqual([2, [{ sum: 3 }]]);
    const work = () => other.statements((queries) => queries.rows(sql, [3]));
    await expect(work()).rejects.toMatchObject({ code: "unavailable" });
    expect(await work()).toEqual([{ sum: 4 }]);
  });

  test("statements keep their time limit, and leave none to others", async () => {
    const open = await start();
    const database = await open({ pooler: "transaction", statementTimeoutMs: 1_000 });
    const isUnavailable = { code: "unavailable" };
    await expect(database.rows("select pg_sleep(60)")).rejects.toMatchObject(isUnavailable);
    await expect(database.transaction((tx) => tx.rows("select pg_sleep(60)"))).rejects.toMatchObject(
      isUnavailable,
    );
    await expect(database.statements((tx) => tx.rows("select pg_sleep(60)"))).rejects.toMatchObject(
      isUnavailable,
    );
    const limit = "select current_setting('statement_timeout') as value";
    expect(await database.rows(limit)).toEqual([{ value: "0" }]);
    expect(await database.transaction((tx) => tx.rows(limit))).toEqual([{ value: "1s" }]);
    expect(await database.statements((tx) => tx.rows(limit))).toEqual([{ value: "1s" }]);
  });

  test("a pooler that accepts no time limit is refused at the start, with the setting that it needs", async () => {
    const open = await start();
    await expect(open()).rejects.toThrow(
      /^DATABASE_URL: .*unsupported startup parameter: statement_timeout.*DATABASE_POOLER=transaction/,
    );
  });
});
