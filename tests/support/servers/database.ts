import { randomUUID } from "node:crypto";
import pg from "pg";
import { describe, inject, onTestFinished } from "vitest";
import type { Database, Queries } from "../../../src/db/database.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { auditDatabase } from "../audit.ts";
import { emptied, type Pristine, readPristine } from "../storage/emptied.ts";
import { openEmbedded } from "./embedded.ts";

/** Where a test's database runs: in this process (PGlite), or on the PostgreSQL of the test run. */
export type DatabaseKind = "embedded" | "server";

/**
 * Runs a suite over each kind of database. Both are PostgreSQL, so `npm test` runs it on the server alone, or on the
 * embedded one where this machine has no server.
 */
export function describeDatabases(name: string, body: (kind: DatabaseKind) => void): void {
  if (inject("runs") !== "without large" || !inject("postgresUrl"))
    describe(`${name} (embedded)`, () => body("embedded"));
  describe.skipIf(!inject("postgresUrl"))(`${name} (server)`, () => body("server"));
}

/**
 * The default for a test to which the kind does not matter: the server, where a new database is far cheaper
 * than in PGlite.
 */
function anyDatabase(): DatabaseKind {
  return inject("postgresUrl") ? "server" : "embedded";
}

/** Registers what must run at the end: `onTestFinished`, or in a `beforeAll` a list of the caller. */
export type OnEnd = (end: () => Promise<void>) => void;

/**
 * A database for this test alone, with all tables and empty. It is audited, and emptied for others, when the
 * test is finished.
 */
export async function openTestDatabase(
  kind = anyDatabase(),
  { onEnd = onTestFinished as OnEnd } = {},
): Promise<Database> {
  if (kind === "embedded") return borrowEmbedded(onEnd);
  const lent = await borrowServer(onEnd);
  lent.database ??= await openPatiently(lent.url, POOL_SIZE);
  return lent.database;
}

/** The same for a product, which closes it by itself (and audits an embedded one). */
export async function openOwnDatabase(
  kind = anyDatabase(),
  { onEnd = onTestFinished as OnEnd } = {},
): Promise<Database> {
  if (kind === "embedded") return openEmbedded();
  return openPatiently(await borrowServerDatabase(onEnd), POOL_SIZE);
}

const POOL_SIZE = 20;

/** Opens a server's database as the product does, but does not count a server on a busy machine as unavailable. */
export function openPatiently(url: string, poolSize: number): Promise<Database> {
  return openDatabase({ kind: "server", url, poolSize, patienceMs: 120_000 });
}

/**
 * A database on the server. The connection that audits it stays open, and so does `database` once a test has opened it.
 */
type ServerDatabase = {
  readonly url: string;
  readonly queries: KeptConnection;
  readonly pristine: Pristine;
  database?: Database;
};

/** Databases kept for the next test of this worker: a new database takes as long as a test. */
const idle = {
  embedded: [] as { readonly database: Database; readonly pristine: Pristine }[],
  server: [] as ServerDatabase[],
};

async function borrowEmbedded(onEnd: OnEnd): Promise<Database> {
  const lent = idle.embedded.pop() ?? (await noted(await openEmbedded()));
  const { database, pristine } = lent;
  onEnd(async () => {
    let fit = false;
    try {
      await auditDatabase(database);
      fit = await emptied(database, pristine);
      // Those of an `analyze`: without them, as in a new database, plans do not depend on earlier tests.
      await database.rows("delete from pg_statistic");
    } finally {
      if (fit) idle.embedded.push(lent);
      else await database.close();
    }
  });
  return database;
}

async function noted(database: Database) {
  return { database, pristine: await readPristine(database) };
}

/**
 * The address of a database with all tables, empty. It is audited, and emptied for others, when the test is
 * finished.
 */
export async function borrowServerDatabase(onEnd: OnEnd): Promise<string> {
  return (await borrowServer(onEnd)).url;
}

async function borrowServer(onEnd: OnEnd): Promise<ServerDatabase> {
  const lent = idle.server.pop() ?? (await newServerDatabase());
  onEnd(async () => {
    let fit = false;
    try {
      await auditDatabase(lent.queries);
      if (lent.database && !(await isOpen(lent.database))) delete lent.database;
      fit = await emptied(lent.queries, lent.pristine);
    } finally {
      if (fit) idle.server.push(lent);
      else await Promise.all([lent.database?.close(), lent.queries.end()]);
    }
  });
  return lent;
}

/** Whether the database is still open: some tests close it. */
function isOpen(database: Database): Promise<boolean> {
  return database.rows("select 1").then(
    () => true,
    () => false,
  );
}

async function newServerDatabase(): Promise<ServerDatabase> {
  const url = await createDatabase(await migratedTemplate());
  const queries = keptConnection(url);
  return { url, queries, pristine: await readPristine(queries) };
}

type KeptConnection = Queries & { end(): Promise<void> };

/**
 * Statements over one connection, which is opened again after it broke. A new connection for each test would load the
 * catalogue of all tables again, which takes longer than its statements.
 */
function keptConnection(url: string): KeptConnection {
  let open: Promise<pg.Client> | undefined;
  const connect = (): Promise<pg.Client> => {
    const client = new pg.Client(url);
    const opening = client.connect().then(() => client);
    const forget = () => {
      if (open === opening) open = undefined;
    };
    client.on("error", forget);
    opening.catch(forget);
    return opening;
  };
  return {
    async rows<Row>(sql: string, parameters: readonly unknown[] = []) {
      open ??= connect();
      return (await (await open).query(sql, [...parameters])).rows as Row[];
    },
    async end() {
      await (await open)?.end();
    },
  };
}

/**
 * The address of a new database on the server, without a table. It is audited and dropped when the test is
 * finished.
 */
export async function createServerDatabase(onEnd: OnEnd = onTestFinished): Promise<string> {
  const url = await createDatabase("template1");
  const drop = `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`;
  onEnd(() => onServer(url, auditDatabase).finally(() => onServer(adminUrl(), ({ rows }) => rows(drop))));
  return url;
}

/**
 * The name of a database with all tables, created by the worker of the run that first needs it: copying one
 * is faster than migrating.
 */
function migratedTemplate(): Promise<string> {
  return onServer(adminUrl(), async ({ rows }) => {
    const [name, draft] = ["migrated", "migrated_draft"];
    // Held by this connection, and released with it.
    await rows("select pg_advisory_lock(1)");
    if ((await rows("select 1 from pg_database where datname = $1", [name])).length > 0) return name;
    await rows(`create database ${draft}`);
    await (await openPatiently(addressOf(draft), 2)).close();
    await rows(`alter database ${draft} rename to ${name}`);
    return name;
  });
}

async function createDatabase(template: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await onServer(adminUrl(), ({ rows }) => rows(`create database ${name} template ${template}`));
  return addressOf(name);
}

async function onServer<T>(url: string, work: (queries: Queries) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  const rows = async <Row>(sql: string, parameters: readonly unknown[] = []) =>
    (await client.query(sql, [...parameters])).rows as Row[];
  return work({ rows }).finally(() => client.end());
}

function addressOf(name: string): string {
  return Object.assign(new URL(adminUrl()), { pathname: `/${name}` }).href;
}

function adminUrl(): string {
  const admin = inject("postgresUrl");
  if (!admin) throw new Error("there is no PostgreSQL server on this machine");
  return admin;
}
