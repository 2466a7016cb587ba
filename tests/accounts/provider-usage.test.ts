// @module-tag large
import { expect, test } from "vitest";
import { recordedSaving } from "../../src/accounts/usage/cache-saving.ts";
import { rollUpProviders } from "../../src/accounts/usage/provider-usage.store.ts";
import { type UsageFilter, UsageService } from "../../src/accounts/usage/usage.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { seedUsage } from "../support/seed-usage.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const VOLUME = { accounts: 4, requests: 1_200, statistics: false };
const LOG = createLogger("silent");
const DAY_MS = 86_400_000;

function rangesFrom(now: number): readonly UsageFilter[] {
  const ago = (days: number) => new Date(now - days * DAY_MS);
  return [
    {},
    { from: ago(70.3) },
    { before: ago(3.1) },
    { from: ago(40.2), before: ago(1.7) },
    { from: ago(0) },
  ];
}

type Request = {
  provider: string;
  at: number;
  cost: string;
  input: string;
  output: string;
  cached: string;
  first_byte_ms: number | null;
  input_cost: string;
  output_cost: string;
  is_hit: boolean;
};

/** The requests of a range, to be added up here. */
async function requestsOf(database: Database, account: string, { from, before }: UsageFilter) {
  return database.rows<Request>(
    `select provider, extract(epoch from created_at)::float8 * 1000 as at, total_cost::text as cost, input_tokens::text as input,
       output_tokens::text as output, cached_tokens::text as cached, first_byte_ms, input_cost::text as input_cost,
       output_cost::text as output_cost, routing->>'cachedFrom' is not null as is_hit
     from inference_request where account = $1 and usage_number is not null
       and created_at >= $2::timestamptz and created_at < $3::timestamptz`,
    [account, from?.toISOString() ?? "-infinity", before?.toISOString() ?? "infinity"],
  );
}

function savingOf(row: Request): bigint {
  if (row.is_hit) return 0n;
  return (
    recordedSaving({
      inputTokens: BigInt(row.input),
      outputTokens: BigInt(row.output),
      cacheTokens: BigInt(row.cached),
      inputPrice: 100n,
      outputPrice: 300n,
      inputCost: BigInt(row.input_cost),
      outputCost: BigInt(row.output_cost),
    }) ?? 0n
  );
}

function bucketsOf(requests: readonly Request[], periodMs: number) {
  const sums = new Map<string, bigint>();
  for (const { provider, at, cost } of requests) {
    const key = `${Math.floor(at / periodMs) * periodMs} ${provider}`;
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(cost));
  }
  return Object.fromEntries(sums);
}

async function requireExact(database: Database, account: string): Promise<void> {
  const usage = new UsageService(database.reads);
  for (const filter of rangesFrom(Date.now())) {
    const requests = await requestsOf(database, account, filter);
    for (const [grain, periodMs] of [
      ["hour", DAY_MS / 24],
      ["day", DAY_MS],
    ] as const) {
      const buckets = await usage.buckets(account, filter, { grain, groups: ["provider"] });
      const found = buckets.map(({ startsAt, provider, cost }) => [
        `${startsAt.getTime()} ${provider}`,
        cost,
      ]);
      expect(Object.fromEntries(found)).toEqual(bucketsOf(requests, periodMs));
      expect(buckets.reduce((sum, bucket) => sum + bucket.requests, 0n)).toBe(BigInt(requests.length));
    }
    const { firstByte, cacheSaving } = await usage.performance(account, filter);
    expect(cacheSaving).toBe(requests.reduce((sum, row) => sum + savingOf(row), 0n));
    const times = requests.flatMap(({ first_byte_ms: ms }) => ms ?? []).toSorted((one, other) => one - other);
    expect(firstByte?.requests ?? 0n).toBe(BigInt(times.length));
    if (!firstByte) continue;
    for (const [ms, fraction] of [
      [firstByte.p50Ms, 0.5],
      [firstByte.p95Ms, 0.95],
    ] as const) {
      const exact = times[Math.ceil(times.length * fraction) - 1] ?? 0;
      expect(Math.abs(ms - exact) / exact).toBeLessThan(0.1);
    }
  }
}

/** Requests of every kind that the sums treat in their own way. */
async function vary(database: Database): Promise<void> {
  for (const change of [
    "first_byte_ms = null where usage_number % 5 = 0",
    "input_cost = input_cost / 2 where usage_number % 3 = 0",
    // Writing to the cache cost more; the balance did not cover the cost; a stored answer was returned.
    "input_cost = input_cost * 2 where usage_number % 7 = 0",
    "output_cost = 0 where usage_number % 11 = 0 and output_tokens > 0",
    `routing = '{"cachedFrom":"other"}' where usage_number % 13 = 0`,
  ])
    await database.rows(`update inference_request set ${change}`);
}

describeDatabases("usage by provider", (kind) => {
  test("sums, percentiles and savings are those of the requests, before, during and after the roll-up and after it is rebuilt", async () => {
    const database = await openTestDatabase(kind);
    try {
      const { account } = await seedUsage(database, VOLUME);
      await vary(database);
      await requireExact(database, account);
      expect(await rollUpProviders(database, account, 60)).toBe(60);
      await requireExact(database, account);
      const rollups = new UsageRollups({ database, log: LOG });
      await rollups.sweep(1);
      await requireExact(database, account);
      expect(await rollUpProviders(database, account, 1_000)).toBe(0);
      await database.rows("update usage_provider_rollup set cost = cost + 1");
      await rollups.rebuild();
      await requireExact(database, account);
      const seedAccounts = await database.rows<{ position: string; count: string }>(
        `select p.usage_number::text as position, a.usage_count::text as count
         from account a left join usage_provider_rolled p on p.account = a.address`,
      );
      for (const { position, count } of seedAccounts) expect(position).toBe(count);
    } finally {
      await database.rows("truncate account, inference_request cascade");
    }
  });

  test("processes that add at the same time add each request once", async () => {
    const database = await openTestDatabase(kind);
    try {
      const { account } = await seedUsage(database, VOLUME);
      const adding = Array.from({ length: 4 }, async () => {
        let total = 0;
        for (let n = 0; n < 20; n++) total += await rollUpProviders(database, account, 20);
        return total;
      });
      const added = (await Promise.all(adding)).reduce((sum, one) => sum + one, 0);
      const [row] = await database.rows<{ sum: string }>(
        "select sum(requests)::text as sum from usage_provider_rollup where account = $1 and grain = 'day'",
        [account],
      );
      expect(Number(row?.sum)).toBe(added);
      await requireExact(database, account);
    } finally {
      await database.rows("truncate account, inference_request cascade");
    }
  });

  test("an account whose requests were all removed before they were added is not added up for ever", async () => {
    const database = await openTestDatabase(kind);
    try {
      const { account } = await seedUsage(database, VOLUME);
      await database.rows("delete from inference_request where account = $1", [account]);
      await rollUpProviders(database, account, 1_000);
      const [row] = await database.rows<{ behind: string }>(
        `select (a.usage_count - p.usage_number)::text as behind from account a join usage_provider_rolled p on p.account = a.address
         where a.address = $1`,
        [account],
      );
      expect(row?.behind).toBe("0");
    } finally {
      await database.rows("truncate account, inference_request cascade");
    }
  });

  test("what the sums by provider are not divided by is refused, and names its field", async () => {
    const database = await openTestDatabase(kind);
    const usage = new UsageService(database.reads);
    const by = (groups: readonly ("provider" | "model")[], filter: UsageFilter = {}) =>
      usage.buckets("0x1", filter, { grain: "day", groups });
    await expect(by(["provider", "model"])).rejects.toMatchObject({
      code: "invalid_parameter",
      param: "groupBy",
    });
    await expect(by(["provider"], { modelId: "m" })).rejects.toMatchObject({ param: "modelId" });
    await expect(usage.performance("0x1", { trustMode: "verified" })).rejects.toMatchObject({
      param: "trustMode",
    });
  });
});
