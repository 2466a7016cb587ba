// @module-tag large
import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { limitWaiting } from "../../src/db/embedded/limit-waiting.ts";
import {
  EmbeddedPostgres,
  type PostgresOptions,
  type PostgresSession,
} from "../../src/db/embedded/postgres.ts";
import { PostgresSocket } from "../../src/db/embedded/postgres-socket.ts";
import { PostgresSupervisor } from "../../src/db/embedded/postgres-supervisor.ts";
import { openDatabase } from "../../src/db/open.ts";
import { embeddedTemplate } from "../support/servers/embedded.ts";
import { newFolder } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const ENDLESS = "select count(*) from generate_series(1, 100000000000)";

describe.each<[string, () => Promise<PostgresSession>]>([
  ["in the calling thread", async () => EmbeddedPostgres.open(await inMemory())],
  ["in its own thread", async () => PostgresSupervisor.open(await inMemory())],
])("an embedded PostgreSQL %s", (_name, open) => {
  test("answers with the types of a server, and names the error in a statement", async () => {
    const pool = poolOf(await open());
    const { rows } = await pool.query(
      "select $1::int8 a, $2::bytea b, $3::timestamptz c, $4::numeric d, null e, $5::jsonb f, $6::int4 g",
      [2n ** 53n, Buffer.from([0, 255]), new Date(0), "1.5", { a: 1 }, 7],
    );
    expect(rows).toEqual([
      {
        ...{ a: "9007199254740992", b: Buffer.from([0, 255]), c: new Date(0), d: "1.5", e: null },
        ...{ f: { a: 1 }, g: 7 },
      },
    ]);
    await expect(pool.query("select 1 / $1::int", [0])).rejects.toMatchObject({ code: "22012" });
    await expect(pool.query("insert into nothing values (1)")).rejects.toMatchObject({ code: "42P01" });
    expect((await pool.query("select 1 as still")).rows).toEqual([{ still: 1 }]);
  });

  test("carries parameters and answers of many megabytes", async () => {
    const pool = poolOf(await open());
    const text = "ä".repeat(4_000_000);
    const { rows } = await pool.query<{ text: string }>("select $1::text || '!' as text", [text]);
    expect(rows[0]?.text === `${text}!`).toBe(true);
  });

  test("a transaction is committed or rolled back as a whole, and no other statement interleaves", async () => {
    const pool = poolOf(await open());
    await pool.query("create table t (n int)");
    const client = await pool.connect();
    await client.query("begin");
    await client.query("insert into t values (1)");
    const beside = pool.query("select count(*)::int as n from t");
    await client.query("rollback");
    client.release();
    expect((await beside).rows).toEqual([{ n: 0 }]);
  });

  test("a client that disconnects leaves nothing to the next one", async () => {
    const pool = poolOf(await open());
    await pool.query("create table t (n int)");
    const client = await pool.connect();
    await client.query("begin");
    await client.query({ name: "one", text: "insert into t values (1)" });
    client.release(true);
    await pool.query({ name: "one", text: "insert into t values (2)" });
    expect((await pool.query("select n from t")).rows).toEqual([{ n: 2 }]);
  });
});

describe("the thread of an embedded database", () => {
  test("a statement beyond the time limit fails, committed rows stay, and the next statement is served", async () => {
    const folder = newFolder();
    await (await openDatabase({ kind: "folder", path: folder })).close();
    const supervisor = await PostgresSupervisor.open({ dataDir: join(folder, "postgres") });
    const pool = poolOf(supervisor);
    await pool.query("create table kept (n int)");
    await pool.query("insert into kept values (1)");
    supervisor.limitStatements(300);
    await expect(pool.query(ENDLESS)).rejects.toThrow();
    supervisor.limitStatements(60_000);
    expect((await pool.query("select n from kept")).rows).toEqual([{ n: 1 }]);
  });

  test("after a panic, as for a disk without space for its log, the next session recovers once there is space", async () => {
    const folder = newFolder();
    await (await openDatabase({ kind: "folder", path: folder })).close();
    const dataDir = join(folder, "postgres");
    const supervisor = await PostgresSupervisor.open({ dataDir });
    const pool = poolOf(supervisor);
    await pool.query("create table kept (n int)");
    await pool.query("insert into kept values (1)");
    // The name under which PGlite's only process creates the next file of its log.
    const obstacle = join(dataDir, "pg_wal", "xlogtemp.42");
    mkdirSync(obstacle);
    const write = () => pool.query("select pg_logical_emit_message(false, 'a', repeat('b', 1000000))");
    await expect(
      (async () => {
        for (;;) await write();
      })(),
    ).rejects.toThrow("xlogtemp");
    await expect(pool.query("select 1")).rejects.toThrow();
    rmdirSync(obstacle);
    await until(() =>
      write().then(
        () => true,
        () => false,
      ),
    );
    expect((await pool.query("select n from kept")).rows).toEqual([{ n: 1 }]);
  });

  test("what a process that was killed left of its copy is removed from the data folder, and no more", async () => {
    const folder = newFolder();
    const leave = () => {
      mkdirSync(join(folder, "postgres.draft-1", "base"), { recursive: true });
      writeFileSync(join(folder, "postgres.draft-1", "base", "1"), "half a copy");
    };
    writeFileSync(join(folder, "postgres.txt"), "notes of the operator");
    for (const start of ["first", "second"]) {
      leave();
      await (await openDatabase({ kind: "folder", path: folder })).close();
      expect(readdirSync(folder).toSorted(), start).toEqual(["lock.sqlite", "postgres", "postgres.txt"]);
    }
  });

  test("a folder without a database of ours fails to open, and says why", async () => {
    await expect(PostgresSupervisor.open({ dataDir: "/dev/null/postgres" })).rejects.toThrow(/ENOTDIR/);
  });
});

describe("the queue of an embedded database", () => {
  test("refuses statements beyond its number and its size, at once, and accepts them again afterwards", async () => {
    const pool = poolOf(await EmbeddedPostgres.open(await inMemory()));
    limitWaiting(pool, { maxStatements: 3, maxCharacters: 100 });
    const busy = await pool.connect();
    const waiting = [1, 2, 3].map((n) => pool.query({ text: "select $1::int as n", values: [n] }));
    const refusal = { code: "unavailable", status: 503, retryAfterSeconds: 1 };
    await expect(pool.query({ text: "select 4" })).rejects.toMatchObject(refusal);
    await expect(pool.connect()).rejects.toMatchObject(refusal);
    busy.release();
    await Promise.all(waiting);
    const large = { text: "select $1::text", values: ["x".repeat(101)] };
    await expect(pool.query(large)).rejects.toMatchObject(refusal);
    expect((await pool.query({ text: "select 1 as n", values: [] })).rows).toEqual([{ n: 1 }]);
  });
});

async function inMemory(): Promise<PostgresOptions> {
  return { dataDir: "memory://", loadDataDir: await embeddedTemplate() };
}

/** One connection as a session, which is closed when the test is finished. */
function poolOf(session: PostgresSession): pg.Pool {
  const pool = new pg.Pool({ max: 1, user: "postgres", stream: () => new PostgresSocket(session) });
  pool.on("error", () => {});
  onTestFinished(async () => {
    await pool.end();
    await session.close();
  });
  return pool;
}
