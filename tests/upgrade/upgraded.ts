import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Database, Queries } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { createServerDatabase, type DatabaseKind, type OnEnd } from "../support/servers/database.ts";
import { newFolder, type ReadyProcess, startReady } from "../support/servers/process.ts";
import type { Target } from "./calls.ts";
import type { Fixture } from "./fixture.ts";

/** A release's data in the hands of the present product. */
export type Upgraded = {
  readonly running: ReadyProcess;
  readonly target: Target;
  /** The keys that the release printed at each start. */
  readonly demoKeys: readonly string[];
  /** Opens its database, once the product has stopped. */
  openDatabase(): Promise<Database>;
};

/**
 * Starts the built product on a copy of a release's data: its own folder with the embedded database, or on a
 * server with the database as SQL. The folder is as old as the fixture; on the server, what expires within a
 * day is made as young as if the release had just stopped.
 */
export async function startUpgraded(fixture: Fixture, kind: DatabaseKind, onEnd: OnEnd): Promise<Upgraded> {
  const folder = newFolder(onEnd);
  await fixture.unpack(folder);
  const url = kind === "server" ? await loadDatabase(fixture, onEnd) : undefined;
  const demo: object = JSON.parse(await readFile(join(folder, "demo.json"), "utf8"));
  const settings = {
    DATA_DIR: folder,
    STORE_JOB_IMAGES: "on",
    ...(url !== undefined && { DATABASE_URL: url }),
  };
  const running = await startReady({ settings, onEnd });
  const [, rpcUrl = ""] = /(http:\S+) \(chain \d+\)/.exec(running.stdout()) ?? [];
  return {
    running,
    target: { origin: running.origin, rpcUrl },
    demoKeys: Object.values(demo),
    openDatabase: () =>
      openDatabase(
        url === undefined ? { kind: "folder", path: folder } : { kind: "server", url, poolSize: 2 },
      ),
  };
}

async function loadDatabase(fixture: Fixture, onEnd: OnEnd): Promise<string> {
  const url = await createServerDatabase(onEnd);
  const client = new pg.Client(url);
  await client.connect();
  try {
    // The SQL creates the schema itself.
    await client.query("drop schema public");
    await client.query(await fixture.sql());
    await client.query("reset search_path");
    await client.query(RENEW.replaceAll("STOPPED", `'${fixture.expected.stoppedAt}'::timestamptz`));
  } finally {
    await client.end();
  }
  return url;
}

/** Moves the rows that expire to the time of this test. */
const RENEW = `
  update idempotency_key set created_at = created_at + (now() - STOPPED), deadline = deadline + (now() - STOPPED);
  update outbox set at = at + (now() - STOPPED);
  update job_content set expires_at = expires_at + (now() - STOPPED);
  update wallet_session set expires_at = expires_at + (now() - STOPPED)`;

/** Everything that migrations define, as text: columns, constraints, indexes, triggers, functions and statistics. */
export async function readSchema(queries: Queries): Promise<readonly string[]> {
  return (await queries.rows<{ line: string }>(SCHEMA)).map(({ line }) => line);
}

const SCHEMA = `
  select line from (
    select format('column %s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) as line
    from information_schema.columns where table_schema = 'public'
    union all
    select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = 'public'::regnamespace
    union all
    select indexdef from pg_indexes where schemaname = 'public'
    union all
    select pg_get_triggerdef(t.oid) from pg_trigger t where not tgisinternal
    union all
    select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'
    union all
    select pg_get_statisticsobjdef(oid) from pg_statistic_ext where stxnamespace = 'public'::regnamespace
  ) as schema order by line`;
