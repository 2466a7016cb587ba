// @module-tag large
import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/db/open.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

/** What a process of the previous version has for each of its statements. */
const STATEMENT_TIMEOUT_MS = 30_000;

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, statement_timeout: STATEMENT_TIMEOUT_MS });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A database of an earlier version: two migrations are missing, the first of requests and the second of batches. */
async function openEarlier() {
  const url = await createServerDatabase();
  await (await openDatabase({ kind: "server", url, poolSize: 2 })).close();
  const admin = await connectTo(url);
  await admin.query(`
    create index inference_request_key on inference_request (api_key_id, usage_id) where usage_id is not null;
    alter table batch drop column cached_tokens, drop column reasoning_tokens;
    delete from mikro_orm_migrations where name in ('45-index-of-keys', '47-token-details-of-batches')`);
  const migrate = async () => (await openDatabase({ kind: "server", url, poolSize: 2 })).close();
  const isWaitingFor = async (table: string) => {
    const waiting = "select 1 from pg_locks where relation = $1::regclass and not granted";
    return (await admin.query(waiting, [table])).rows.length > 0;
  };
  const isMigrated = async () =>
    (await admin.query("select 1 from mikro_orm_migrations where name like '47-%'")).rows.length > 0;
  return { url, migrate, isWaitingFor, isMigrated };
}

describe.skipIf(!inject("postgresUrl"))("a migration while the previous version runs", () => {
  test("does not make statements wait for as long as a dump holds their table", async () => {
    const { url, migrate, isWaitingFor, isMigrated } = await openEarlier();
    const dump = await connectTo(url);
    await dump.query("begin; lock table batch in access share mode");
    const migrating = migrate();
    await until(() => isWaitingFor("batch"));
    const writer = await connectTo(url);
    // Each waits behind the migration, which waits for the dump.
    for (let n = 0; n < 2; n++) {
      await until(() => isWaitingFor("batch"));
      await writer.query("update batch set status = status");
      await writer.query("update inference_request set status = status");
    }
    expect(await isMigrated()).toBe(false);
    await dump.query("commit");
    await migrating;
    expect(await isMigrated()).toBe(true);
  });

  test("begins again after a deadlock with statements that use the same tables in another order", async () => {
    const { url, migrate, isWaitingFor, isMigrated } = await openEarlier();
    const earlier = await connectTo(url);
    // The migration is the one that PostgreSQL ends, even if the second lock is late.
    await earlier.query(EARLIER_OUTLASTS);
    await earlier.query("begin; lock table batch in row exclusive mode");
    const migrating = migrate();
    await until(() => isWaitingFor("batch"));
    await earlier.query("lock table inference_request in row exclusive mode");
    await earlier.query("commit");
    await migrating;
    expect(await isMigrated()).toBe(true);
  });
});

/** Of two sessions in a deadlock, the one that looks for it first ends. */
const EARLIER_OUTLASTS = `
  do $$ begin execute format('alter database %I set deadlock_timeout = ''4s''', current_database()); end $$;
  set deadlock_timeout = '1h'`;
