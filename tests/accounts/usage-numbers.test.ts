// @module-tag large
import { Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import { describe, expect, inject, test } from "vitest";
import { placeHold } from "../../src/accounts/holds.store.ts";
import { resolveHolds, type Settlement } from "../../src/accounts/settlements.store.ts";
import { UsageService } from "../../src/accounts/usage/usage.service.ts";
import type { Database } from "../../src/db/database.ts";
import { entities } from "../../src/db/entities.ts";
import { migrations } from "../../src/db/migrations/index.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import {
  createServerDatabase,
  describeDatabases,
  openPatiently,
  openTestDatabase,
} from "../support/servers/database.ts";

async function hold(database: Database, seeded: readonly Seeded[]): Promise<readonly string[]> {
  const requests = seeded.map((one) => requestFor(one, 1n));
  for (const request of requests) await placeHold(database, request);
  return requests.map(({ id }) => id);
}

function settlement(id: string, isUsed = true): Settlement {
  if (isUsed) return settlementOf(id, 1n);
  return settlementOf(id, 0n, { outcome: "failed", inputTokens: undefined, outputTokens: undefined });
}

/** The numbers of an account's history, newest first, page by page. */
async function numbersOf(database: Database, account: string): Promise<readonly number[]> {
  const { rows } = await new UsageService(database.reads).history(account, {}, { first: 100 });
  return rows.map(({ id }) => Number(id));
}

async function requestsOf(database: Database, account: string) {
  const { rows } = await new UsageService(database.reads).history(account, {}, { first: 100 });
  return rows.map(({ id, requestId }) => [Number(id), requestId]);
}

const downFrom = (n: number) => Array.from({ length: n }, (_, index) => n - index);

describeDatabases("usage numbers", (kind) => {
  test("an account's requests are numbered from 1 without gaps, whatever else is in the batch", async () => {
    const database = await openTestDatabase(kind);
    const [one, other] = [await seedAccount(database, 100n), await seedAccount(database, 100n)];
    const first = await hold(database, [one, other, other, one, one, other, other]);
    await resolveHolds(
      database,
      first.map((id, n) => settlement(id, n !== 3)),
    );
    expect([await numbersOf(database, one.account), await numbersOf(database, other.account)]).toEqual([
      downFrom(2),
      downFrom(4),
    ]);
    const [unused, last] = await hold(database, [one, one]);
    await resolveHolds(database, [settlement(unused ?? "", false)]);
    await resolveHolds(database, [settlement(last ?? "")]);
    await resolveHolds(database, [settlement(last ?? "")]);
    expect(await numbersOf(database, one.account)).toEqual(downFrom(3));
  });

  test("tokens are summed over requests that were charged, or completed at a price of zero, and no others", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const endings: readonly Partial<Settlement>[] = [
      { outcome: "completed", inputCost: 1n },
      { outcome: "failed", inputCost: 1n, errorCode: "provider_error" },
      { outcome: "aborted", inputCost: 1n },
      { outcome: "completed", inputCost: 0n },
      { outcome: "failed", inputCost: 0n, errorCode: "provider_error" },
      { outcome: "aborted", inputCost: 0n },
      { outcome: "failed", inputCost: 0n, inputTokens: undefined, outputTokens: undefined },
    ];
    const ids = await hold(database, Array(endings.length).fill(seeded));
    await resolveHolds(
      database,
      endings.map((ending, n) => ({
        ...settlement(ids[n] ?? ""),
        ...{ inputTokens: 10 ** n, outputTokens: 2 * 10 ** n },
        ...ending,
      })),
    );
    const usage = new UsageService(database.reads);
    const charged = { requests: 4n, inputTokens: 1_111n, outputTokens: 2_222n, cost: 3n };
    expect(await usage.stats(seeded.account, {})).toMatchObject(charged);
    expect(await usage.daily(seeded.account, {})).toMatchObject([charged]);
    expect((await requestsOf(database, seeded.account)).map(([, id]) => id)).toEqual(
      ids.slice(0, 4).reverse(),
    );
  });

  test("a reader that sees a number sees all smaller ones, while many requests settle at once", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 1_000n);
    const ids = await hold(database, Array(90).fill(seeded));
    let isDone = false;
    const settling = Promise.all(ids.map((id) => resolveHolds(database, [settlement(id)]))).then(() => {
      isDone = true;
    });
    while (!isDone) {
      const seen = await numbersOf(database, seeded.account);
      expect(seen).toEqual(downFrom(seen.length));
    }
    await settling;
    expect(await numbersOf(database, seeded.account)).toEqual(downFrom(90));
  });
});

describeDatabases("processes of the previous version", (kind) => {
  test("requests they settle are numbered in one sequence with those of this version", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const [first = "", old = "", last = ""] = await hold(database, [seeded, seeded, seeded]);
    await resolveHolds(database, [settlement(first)]);
    await database.rows(
      `with moved as (update account set held = held where address = $1::text returning *)
       update inference_request r set usage_id = nextval('usage_id'), input_tokens = 1, total_cost = 0,
         deposit_used = 0, credit_used = 0
       from moved where r.id = $2::text and r.account = moved.address`,
      [seeded.account, old],
    );
    await resolveHolds(database, [settlement(last)]);
    expect(await requestsOf(database, seeded.account)).toEqual([
      [3, last],
      [2, old],
      [1, first],
    ]);
    await database.rows(
      "update inference_request set usage_id = null, usage_number = null where id = $1::text",
      [old],
    );
    // The numbers have no gap when they are audited.
    await database.rows("update inference_request set usage_number = 2 where id = $1::text", [last]);
    await database.rows("update account set usage_count = 2 where address = $1::text", [seeded.account]);
    await resolveHolds(database, [settlement(old, false)]);
  });
});

describe.skipIf(!inject("postgresUrl"))("migration of usage numbers", () => {
  test("each account's history keeps its order and its rows, and continues after its last number", async () => {
    const url = await createServerDatabase();
    await migrateBefore(url, "17-usage");
    const orm = await MikroORM.init({ clientUrl: url, entities: [...entities], ensureDatabase: false });
    await orm.em.getConnection().execute(FILL);
    await orm.close();
    const database = await openPatiently(url, 2);
    try {
      const rows = await database.rows<{ account: string; ids: string; names: string; count: string }>(`
        select account, string_agg(usage_number::text, ' ' order by usage_number) as ids,
          string_agg(id, ' ' order by usage_number) as names, max(usage_count)::text as count
        from inference_request join account on account = address group by account order by account`);
      expect(rows).toMatchObject([
        { ids: "1 2 3", names: "a30 a20 a50 running", count: "3" },
        { ids: "1 2", names: "b40 b10", count: "2" },
      ]);
      const unused = await database.rows("select usage_count from account where address = $1::text", [
        NOBODY,
      ]);
      expect(unused.map((row) => String(Object.values(row as object)))).toEqual(["0"]);
    } finally {
      await database.rows("truncate account, inference_request cascade");
      await database.close();
    }
  });
});

const [ONE, OTHER, NOBODY] = ["1", "2", "3"].map((digit) => `0x${digit.repeat(40)}`) as [
  string,
  string,
  string,
];
/** Numbers as one sequence for all accounts assigned them; a running request has none. */
const FILL = `
  insert into account (address) values ('${ONE}'), ('${OTHER}'), ('${NOBODY}');
  insert into inference_request
    (id, account, model, provider, service_type, status, input_price, output_price, usage_id)
  select name, account, repeat('m', 3000), '0x0', 'chatbot', 'completed', 1, 1, n from (values
    ('a30', '${ONE}', 11), ('a20', '${ONE}', 20), ('a50', '${ONE}', 900), ('running', '${ONE}', null),
    ('b40', '${OTHER}', 12), ('b10', '${OTHER}', 21)) as v(name, account, n)`;

async function migrateBefore(url: string, name: string): Promise<void> {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [...entities],
    extensions: [Migrator],
    ensureDatabase: false,
    migrations: {
      migrationsList: migrations.slice(
        0,
        migrations.findIndex((migration) => migration.name === name),
      ),
      snapshot: false,
      silent: true,
    },
  });
  await orm.migrator.up();
  await orm.close();
}
