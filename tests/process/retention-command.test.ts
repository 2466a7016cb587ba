// @module-tag large
import { expect, inject, test } from "vitest";
import { openDatabase } from "../../src/db/open.ts";
import { fillMonth, monthsAgo } from "../support/fill-months.ts";
import { seedAccount } from "../support/seed.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { newFolder, runProcess, startUnready } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const SCRIPT = "dist/gateway/cli/retention.js";

/** A database with a month that is due, and the settings of the command for it. */
async function prepare() {
  const url = await createServerDatabase();
  const database = await openDatabase({ kind: "server", url, poolSize: 4, patienceMs: 120_000 });
  const seeded = [await seedAccount(database, 1_000_000n)];
  await fillMonth(database, monthsAgo(2), { seeded, requests: 4 });
  const settings = {
    DATABASE_URL: url,
    RETENTION_REQUESTS_MONTHS: "1",
    RETENTION_ARCHIVE_FOLDER: newFolder(),
  };
  return { database, settings };
}

test.skipIf(!inject("postgresUrl"))(
  "npm run retention says so while another process closes months, and closes them after its end",
  async () => {
    const { database, settings } = await prepare();
    try {
      await database.rows(
        "insert into retention_lease (id, process_id, expires_at) values (1, gen_random_uuid(), now() + interval '1 hour')",
      );
      const run = () => runProcess({ script: SCRIPT, settings });
      const refused = await run();
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toMatch(/^1 months are due, but another process is closing months\. .*\n$/);
      await database.rows("delete from retention_lease");
      const closed = await run();
      expect(closed).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`${monthsAgo(2)}: 4 requests`),
      });
    } finally {
      await database.close();
    }
  },
);

test.skipIf(!inject("postgresUrl"))(
  "the first signal ends a dry run, also while a statement takes long",
  async () => {
    const { database, settings } = await prepare();
    try {
      // The count of rows waits for this lock.
      const locked = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const holding = database.transaction(async (tx) => {
        await tx.rows("lock table inference_request in access exclusive mode");
        locked.resolve();
        await release.promise;
      });
      await locked.promise;
      const started = await startUnready({ script: SCRIPT, args: ["--dry-run"], settings });
      const waiting = "select 1 from pg_locks where relation = 'inference_request'::regclass and not granted";
      await until(async () => (await database.rows(waiting)).length === 1);
      expect(await started.end("SIGINT")).toEqual({ code: null, signal: "SIGINT" });
      release.resolve();
      await holding;
    } finally {
      await database.close();
    }
  },
);
