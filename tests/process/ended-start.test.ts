// @module-tag large
import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { createServerDatabase } from "../support/servers/database.ts";
import { newFolder, startUnready } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

/** Under which processes migrate one after another. */
const MIGRATION_LOCK = 7_260_814_003n;

describe.skipIf(!inject("postgresUrl"))("a process that waits for another one to migrate", () => {
  test("ends by itself when it is told to end, also as the first process of a container", async () => {
    const url = await createServerDatabase();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const settings = { DATABASE_URL: url, DATA_DIR: newFolder() };
    const starting = await startUnready({ settings });
    const waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted";
    await until(async () => (await client.query(waiting)).rows.length > 0);
    // Only a process that handles the signal has a code: the kernel ignores it for a first process that does not.
    expect(await starting.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(starting.stderr()).toBe("");
  });
});
