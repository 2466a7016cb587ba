// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { MAX_WAITING_PER_ACCOUNT } from "../../src/db/read-limiter.ts";
import { rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { borrowServerDatabase, describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const ACCOUNT = "0x0000000000000000000000000000000000000001";
const FOREVER = { text: "select pg_sleep(600) /* forever */", values: [] };
const UNAVAILABLE = { code: "unavailable" };

async function openServer(limits: { readTimeoutMs?: number; statementTimeoutMs?: number } = {}) {
  const url = await borrowServerDatabase(onTestFinished);
  const database = await openDatabase({ kind: "server", url, poolSize: 3, patienceMs: 120_000, ...limits });
  onTestFinished(() => database.close());
  return database;
}

async function running(database: Database): Promise<number> {
  const rows = await database.rows(
    "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '%/* forever */'",
  );
  return rows.length;
}

describe.skipIf(!inject("postgresUrl"))("slow reads, on a server", () => {
  test("the server ends a read at its deadline, and the next one is answered", async () => {
    const database = await openServer({ readTimeoutMs: 200 });
    await expect(database.reads.rows(ACCOUNT, FOREVER)).rejects.toMatchObject(UNAVAILABLE);
    // The server sends its error before it states that nothing runs.
    await until(async () => expect(await running(database)).toBe(0));
    expect(await database.reads.rows(ACCOUNT, { text: "select $1::text as x", values: ["y"] })).toEqual([
      { x: "y" },
    ]);
  });

  test("a read whose client disconnects is cancelled, and the next one gets its slot", async () => {
    const database = await openServer({ readTimeoutMs: 60_000 });
    const leaving = new AbortController();
    const left = database.reads.rows(ACCOUNT, FOREVER, leaving.signal);
    const ended = expect(left).rejects.toMatchObject(UNAVAILABLE);
    await until(async () => expect(await running(database)).toBe(1));
    const next = database.reads.rows(ACCOUNT, { text: "select 1 as x", values: [] });
    leaving.abort();
    await ended;
    expect(await next).toEqual([{ x: 1 }]);
    await until(async () => expect(await running(database)).toBe(0));
  });

  test("a slow read of one account does not delay other accounts", async () => {
    const database = await openServer({ readTimeoutMs: 60_000 });
    const leaving = new AbortController();
    const slow = [1, 2, 3].map(() =>
      expect(database.reads.rows(ACCOUNT, FOREVER, leaving.signal)).rejects.toMatchObject(UNAVAILABLE),
    );
    await until(async () => expect(await running(database)).toBe(1));
    const other = ACCOUNT.replace(/1$/, "2");
    expect(await database.reads.rows(other, { text: "select 1 as x", values: [] })).toEqual([{ x: 1 }]);
    leaving.abort();
    await Promise.all(slow);
  });

  test("a read uses no parallel workers and cannot write", async () => {
    const { reads } = await openServer();
    const setting = { text: "show max_parallel_workers_per_gather", values: [] };
    expect(await reads.rows(ACCOUNT, setting)).toEqual([{ max_parallel_workers_per_gather: "0" }]);
    const write = { text: "delete from account returning 1", values: [] };
    await expect(reads.rows(ACCOUNT, write)).rejects.toMatchObject({ cause: { code: "25006" } });
  });

  test("every other statement has a deadline too, inside and outside a transaction, on every connection", async () => {
    const database = await openServer({ statementTimeoutMs: 300 });
    await expect(database.rows("select pg_sleep(600)")).rejects.toMatchObject(UNAVAILABLE);
    await expect(
      database.transaction(async (tx) => {
        await tx.rows("create table undone ()");
        await tx.rows("select pg_sleep(600)");
      }),
    ).rejects.toMatchObject(UNAVAILABLE);
    const shown = await Promise.all(
      [1, 2, 3].map(() => database.rows("select current_setting('statement_timeout') as ms, pg_sleep(0.05)")),
    );
    expect(shown.flat()).toMatchObject(Array(3).fill({ ms: "300ms" }));
    expect(await database.rows("select to_regclass('undone') as name")).toEqual([{ name: null }]);
  });
});

describeDatabases("reads of one account", (kind) => {
  test("run one after the other; a read beyond the queue is refused, and accepted again later", async () => {
    const database = await openTestDatabase(kind);
    const read = () => database.reads.rows(ACCOUNT, { text: "select 1 as x", values: [] });
    const answers = await Promise.allSettled(Array.from({ length: MAX_WAITING_PER_ACCOUNT + 14 }, read));
    const refused = answers.filter((answer) => answer.status === "rejected");
    expect(refused.map(({ reason }) => [reason.code, reason.retryAfterSeconds])).toEqual(
      Array(13).fill(["rate_limit_exceeded", 1]),
    );
    expect(await read()).toEqual([{ x: 1 }]);
  });
});

describe.skipIf(!inject("postgresUrl"))("usage over REST", () => {
  const stack = useStack({ DATABASE_READ_TIMEOUT_MS: "60000" }, "server");

  test("reads beyond the queue get 429 with Retry-After, while others read their balance", async () => {
    const { app, origin } = stack();
    const [greedy, other] = [await seedAccount(app.database, 10n), await seedAccount(app.database, 10n)];
    const [mk, othersMk] = await Promise.all(
      [greedy, other].map(async ({ account }) => {
        const { secret } = await app.managementKeys.create(account, "reader", ["account:read"]);
        return secret;
      }),
    );
    const unlock = await lockRequests(app.database);
    let refused = 0;
    const reads = Array.from({ length: MAX_WAITING_PER_ACCOUNT + 4 }, async () => {
      const answer = await fetch(`${origin}/v1/account/usage/stats`, {
        headers: { authorization: `Bearer ${mk}` },
      });
      if (answer.status === 429) refused++;
      return [answer.status, answer.headers.get("retry-after"), answer.headers.get("x-should-retry")];
    });
    await until(() => expect(refused).toBe(3));
    expect((await rest(origin, "/v1/account/balance", othersMk)).status).toBe(200);
    await unlock();
    const answers = await Promise.all(reads);
    expect(answers.filter(([status]) => status === 200)).toHaveLength(MAX_WAITING_PER_ACCOUNT + 1);
    expect(answers.filter(([status]) => status === 429)).toEqual(Array(3).fill([429, "1", "true"]));
  });

  test.each(["stats { requestCount }", "daily { date }", "history(first: 1) { nodes { number } }"])(
    "over GraphQL, usage { %s } is cancelled when its client disconnects",
    async (fields) => {
      const { app, origin } = stack();
      const { account } = await seedAccount(app.database, 10n);
      const { secret } = await app.managementKeys.create(account, "reader", ["account:read"]);
      const unlock = await lockRequests(app.database);
      const leaving = new AbortController();
      const left = fetch(`${origin}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        body: JSON.stringify({ query: `{ viewer { account { usage { ${fields} } } } }` }),
        signal: leaving.signal,
      });
      const ended = expect(left).rejects.toThrow();
      await until(async () => expect(await waitingReads(app.database)).toBe(1));
      leaving.abort();
      await ended;
      await until(async () => expect(await waitingReads(app.database)).toBe(0));
      await unlock();
    },
  );
});

/** Locks the table that reads of usage read, until the returned function is called or the test ends, however it ends. */
async function lockRequests(database: Database): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const locking = database.transaction(async (tx) => {
    await tx.rows("lock table inference_request in access exclusive mode");
    locked.resolve();
    await held.promise;
  });
  const unlock = async () => {
    held.resolve();
    await locking;
  };
  onTestFinished(unlock);
  await locked.promise;
  return unlock;
}

/** Reads of usage that wait for a lock. The sequencer of receipts waits for it too, and gives up after 30 s. */
async function waitingReads(database: Database): Promise<number> {
  const rows = await database.rows(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query not like '%receipt_draft%'",
  );
  return rows.length;
}
