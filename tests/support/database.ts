import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { describe, inject, onTestFinished } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { auditDatabase } from "./audit.ts";

/** Where a test's database lives: in this process (PGlite), or on the PostgreSQL of the test run. */
export type DatabaseKind = "embedded" | "server";

/** Runs a suite once over each kind of database; the server's is skipped when this machine has none. */
export function describeDatabases(name: string, body: (kind: DatabaseKind) => void): void {
  describe(`${name} (embedded)`, () => body("embedded"));
  describe.skipIf(!inject("postgresUrl"))(`${name} (server)`, () => body("server"));
}

/** Takes what must run at the end: `onTestFinished`, or in a `beforeAll` a list of one's own. */
export type OnEnd = (end: () => Promise<void>) => void;

/** A database of this test's own, with all tables. It is audited, closed, and dropped, when the test is finished. */
export async function openTestDatabase(
  kind: DatabaseKind,
  { poolSize = 20, onEnd = onTestFinished as OnEnd } = {},
): Promise<Database> {
  if (kind === "server") {
    const database = await openDatabase({ kind, url: await createServerDatabase(onEnd), poolSize });
    onEnd(() => database.close());
    return database;
  }
  const database = await openEmbedded();
  onEnd(() => auditDatabase(database).finally(() => database.close()));
  return database;
}

/** The address of a new, empty database on the server. It is audited and dropped when the test is finished. */
export async function createServerDatabase(onEnd: OnEnd = onTestFinished): Promise<string> {
  const admin = inject("postgresUrl");
  if (!admin) throw new Error("there is no PostgreSQL server on this machine");
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await onServer(admin, `create database ${name}`);
  const url = Object.assign(new URL(admin), { pathname: `/${name}` }).href;
  const drop = () => onServer(admin, `drop database if exists ${name} with (force)`);
  onEnd(() => auditServerDatabase(url).finally(drop));
  return url;
}

async function auditServerDatabase(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const rows = async <Row>(sql: string) => (await client.query(sql)).rows as Row[];
  await auditDatabase({ rows }).finally(() => client.end());
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/**
 * PGlite takes about 2 s to make an empty cluster and 0.3 s to load a dumped one, so the first test to need one
 * leaves a dump for all later runs. Its name is the hash of what it is made from.
 */
async function openEmbedded(): Promise<Database> {
  const folder = resolve(".cache/pglite");
  const file = join(folder, `${await templateHash()}.tar`);
  const template = await readFile(file).catch(() => undefined);
  if (template) return openDatabase({ kind: "memory", loadDataDir: new Blob([template]) });
  const database = await openDatabase({ kind: "memory" });
  const connection = database.orm.em.getConnection() as { getNativeClient?(): Promise<unknown> };
  const native = await connection.getNativeClient?.();
  if (!(native instanceof PGlite)) throw new Error("the embedded database is not PGlite");
  const dump = await native.dumpDataDir("none");
  await mkdir(folder, { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, Buffer.from(await dump.arrayBuffer()));
  await rename(draft, file);
  return database;
}

async function templateHash(): Promise<string> {
  const folder = resolve("src/db/migrations");
  const hash = createHash("sha256").update(await readFile("node_modules/@electric-sql/pglite/package.json"));
  for (const name of (await readdir(folder)).sort()) hash.update(await readFile(join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}
