// @module-tag large
import { expect, test } from "vitest";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import {
  type UsageBucket,
  type UsageDivision,
  type UsageFilter,
  UsageService,
  type UsageTotals,
  usageCursor,
} from "../../src/accounts/usage/usage.service.ts";
import { UsageRollups } from "../../src/accounts/usage/usage-rollups.service.ts";
import { rollUp } from "../../src/accounts/usage/usage-rollups.store.ts";
import type { Database } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { type SeededUsage, seedUsage } from "../support/seed-usage.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const VOLUME = { accounts: 6, requests: 3_000, statistics: false };
const OTHER_ACCOUNT = 2;
const LOG = createLogger("silent");

/** Ranges that begin and end anywhere, with each kind of part between. */
function rangesFrom(now: Date): readonly Pick<UsageFilter, "from" | "before">[] {
  const ago = (days: number, minutes = 0) => new Date(now.getTime() - days * 86_400_000 - minutes * 60_000);
  return [
    {},
    { from: ago(70, 17) },
    { before: ago(3, 5) },
    { from: ago(80, 3), before: ago(1, 44) },
    { from: ago(40), before: ago(39) },
    { from: ago(20, 30), before: ago(20) },
    { from: ago(10), before: ago(10) },
  ];
}

function filtersOf({ keyId, model }: SeededUsage): readonly UsageFilter[] {
  const others: readonly UsageFilter[] = [
    {},
    { apiKeyId: keyId },
    { source: "wallet" },
    { trustMode: "verified", modelId: model },
    { source: "api_key", modelId: "none" },
  ];
  return rangesFrom(new Date()).flatMap((range) => others.map((other) => ({ ...range, ...other })));
}

/** The same sums, request by request. */
async function sumRequests(database: Database, account: string, filter: UsageFilter) {
  const conditions = [
    filter.apiKeyId && `api_key_id = '${filter.apiKeyId}'`,
    filter.source && `api_key_id is ${filter.source === "wallet" ? "null" : "not null"}`,
    filter.trustMode && `trust_mode = '${filter.trustMode}'`,
    filter.modelId && `model = '${filter.modelId}'`,
    filter.from && `created_at >= '${filter.from.toISOString()}'`,
    filter.before && `created_at < '${filter.before.toISOString()}'`,
  ].filter((condition) => condition !== undefined);
  const [row] = await database.rows<Record<"requests" | "cost" | "input" | "output" | "cached", string>>(
    `select count(*)::text as requests, coalesce(sum(total_cost), 0)::text as cost,
       coalesce(sum(input_tokens), 0)::text as input, coalesce(sum(output_tokens), 0)::text as output,
       coalesce(sum(cached_tokens), 0)::text as cached
     from inference_request where ${["account = $1", "usage_number is not null", ...conditions].join(" and ")}`,
    [account],
  );
  return row;
}

function asText({ requests, cost, inputTokens, outputTokens, cachedTokens }: UsageTotals) {
  const [input, output, cached] = [inputTokens, outputTokens, cachedTokens].map(String);
  return { requests: `${requests}`, cost: `${cost}`, input, output, cached };
}

async function requireExact(database: Database, seeded: SeededUsage): Promise<void> {
  const usage = new UsageService(database.reads);
  for (const filter of filtersOf(seeded)) {
    const expected = await sumRequests(database, seeded.account, filter);
    expect(asText(await usage.stats(seeded.account, filter)), JSON.stringify(filter)).toEqual(expected);
    const days = await usage.daily(seeded.account, filter, { byTrustMode: true });
    expect(`${days.reduce((sum, { requests }) => sum + requests, 0n)}`, JSON.stringify(filter)).toBe(
      expected?.requests,
    );
    expect(`${days.reduce((sum, { cost }) => sum + cost, 0n)}`).toBe(expected?.cost);
  }
}

/** The numbers of a page of the history, read from the requests alone. */
async function numbersOf(database: Database, account: string, model: string, before: bigint, skip: number) {
  const rows = await database.rows<{ id: string }>(
    `select usage_number::text as id from inference_request where account = $1 and model = $2 and usage_number < $3::bigint
     order by usage_number desc limit 20 offset $4::integer`,
    [account, model, before.toString(), skip],
  );
  return rows.map(({ id }) => id);
}

async function sumsOf(database: Database): Promise<readonly unknown[]> {
  return [
    ...(await database.rows(
      "select u.*, u.cost::text as cost from usage_rollup u order by 1, 2, 3, 4, 5, 6",
    )),
    ...(await database.rows("select * from usage_day order by 1, 2")),
  ];
}

async function rollupFaults(database: Database): Promise<number> {
  const faults = await findLedgerFaults(database);
  return faults.filter(({ fault }) => fault.includes("sums of usage")).length;
}

async function withUsage(
  work: (database: Database, seeded: SeededUsage, rollups: UsageRollups) => Promise<void>,
  database: Database,
): Promise<void> {
  try {
    const seeded = await seedUsage(database, VOLUME);
    await work(database, seeded, new UsageRollups({ database, log: LOG }));
  } finally {
    // The seeded requests have no entries in the ledger, which is audited.
    await database.rows("truncate account, inference_request cascade");
  }
}

/** The same buckets, request by request, as text. */
async function bucketRequests(
  database: Database,
  account: string,
  { from, before }: UsageFilter,
  { grain, groups }: UsageDivision,
) {
  const columns = groups.map((group) => (group === "api_key" ? "api_key_id::text" : group));
  const keys = [`date_trunc('${grain}', created_at, 'UTC')`, ...columns];
  const rows = await database.rows<{ keys: (string | null)[]; sums: string[] }>(
    `select json_build_array(extract(epoch from k) * 1000${columns.map((_, n) => `, c${n}`).join("")})::json as keys,
       json_build_array(requests, cost, input)::json as sums
     from (select ${keys.map((key, n) => `${key} as ${n === 0 ? "k" : `c${n - 1}`}`).join(", ")},
         count(*)::text as requests, sum(total_cost)::text as cost, sum(input_tokens)::text as input
       from inference_request where account = $1 and usage_number is not null
         and created_at >= $2::timestamptz and created_at < $3::timestamptz
       group by ${keys.map((_, n) => n + 1).join(", ")} order by ${keys.map((_, n) => n + 1).join(", ")}) b`,
    [account, from?.toISOString() ?? "-infinity", before?.toISOString() ?? "infinity"],
  );
  return rows.map(({ keys: found, sums }) => [...found, ...sums]);
}

function bucketText(bucket: UsageBucket, { groups }: UsageDivision) {
  const { model, apiKeyId: api_key, trustMode: trust_mode, tagValue: tag, provider } = bucket;
  const members = { model, api_key, trust_mode, tag, provider };
  return [
    bucket.startsAt.getTime(),
    ...groups.map((group) => members[group]),
    `${bucket.requests}`,
    `${bucket.cost}`,
    `${bucket.inputTokens}`,
  ];
}

const GROUPS: readonly UsageDivision["groups"][] = [[], ["model"], ["api_key", "model"], ["trust_mode"]];

describeDatabases("usage rollups", (kind) => {
  test("buckets are the sums of their requests, before, during and after the roll-up", async () => {
    await withUsage(
      async (database, { account }) => {
        const usage = new UsageService(database.reads);
        const ranges = rangesFrom(new Date());
        const requireBuckets = async () => {
          for (const [n, grain] of (["hour", "day", "month"] as const).entries())
            for (const [at, groups] of GROUPS.entries()) {
              const filter = ranges[(n + 2 * at) % ranges.length] ?? {};
              const division = { grain, groups };
              const buckets = await usage.buckets(account, filter, division);
              expect(buckets.map((bucket) => bucketText(bucket, division))).toEqual(
                await bucketRequests(database, account, filter, division),
              );
            }
        };
        await requireBuckets();
        await rollUp(database, account, 100);
        await requireBuckets();
        while ((await rollUp(database, account, 1_000)) > 0);
        await requireBuckets();
        const model = await usage.buckets(
          account,
          { modelId: "model-3" },
          { grain: "month", groups: ["model"] },
        );
        expect(new Set(model.map((bucket) => bucket.model))).toEqual(new Set(["model-3"]));
      },
      await openTestDatabase(kind),
    );
  });

  test("more than 5,000 buckets are refused", async () => {
    await withUsage(
      async (database, { account }) => {
        // One request an hour, for eight months.
        await database.rows(
          `insert into inference_request (id, account, model, provider, service_type, status, input_price, output_price,
             input_cost, output_cost, total_cost, trust_mode, created_at, usage_number)
           select 'hourly-' || n, $1, 'm', 'p', 'chatbot', 'completed', 1, 1, 1, 0, 1, 'standard',
             now() - n * interval '1 hour', 1000000 + n from generate_series(1, 5001) n`,
          [account],
        );
        const usage = new UsageService(database.reads);
        const hourly = { grain: "hour", groups: [] } as const;
        await expect(usage.buckets(account, {}, hourly)).rejects.toMatchObject({
          code: "invalid_parameter",
          param: "by",
        });
        expect((await usage.buckets(account, {}, { ...hourly, grain: "day" })).length).toBeGreaterThan(200);
      },
      await openTestDatabase(kind),
    );
  });

  test("stored sums and pending requests together are the sums of the requests, for each filter", async () => {
    await withUsage(
      async (database, seeded, rollups) => {
        await requireExact(database, seeded);
        expect(await rollUp(database, seeded.account, 137)).toBe(137);
        await requireExact(database, seeded);
        expect(await rollups.sweep(1)).toBe(VOLUME.requests - 137);
        await requireExact(database, seeded);
        expect(await rollups.sweep(1)).toBe(0);
        expect(await rollupFaults(database)).toBe(0);
      },
      await openTestDatabase(kind),
    );
  });

  test("a filtered history skips days without a match, and no request", async () => {
    await withUsage(
      async (database, { account }, rollups) => {
        await database.rows("update account set usage_count = usage_count + 20000 where address = $1", [
          account,
        ]);
        await database.rows(
          `insert into inference_request (id, account, model, provider, service_type, status, input_price, output_price,
             input_tokens, output_tokens, total_cost, deposit_used, credit_used, created_at, usage_number)
           select 'many-' || n, $1, case when n % 1999 in (0, 1) then 'rare' else 'common' end, 'p', 'chatbot',
             'completed', 1, 1, 1, 1, 2, 2, 0,
             timestamptz '2026-01-01' + n * interval '3 minutes' + (n % 7) * interval '5 hours',
             (select max(usage_number) from inference_request where account = $1) + n
           from generate_series(1, 20000) n`,
          [account],
        );
        const usage = new UsageService(database.reads);
        const compare = async () => {
          for (const modelId of ["rare", "common", "none"])
            for (const before of [2n ** 62n, 20_000n, 9_000n, 300n])
              for (const skip of [0, 7, 1_500]) {
                const after = usageCursor({ id: before });
                const { rows } = await usage.history(account, { modelId }, { first: 20, skip, after });
                expect(rows.map(({ id }) => `${id}`)).toEqual(
                  await numbersOf(database, account, modelId, before, skip),
                );
              }
        };
        await compare();
        await rollups.sweep(1);
        await compare();
        const from = new Date("2026-01-20T05:00:00Z");
        const { rows } = await usage.history(account, { modelId: "rare", from }, { first: 100 });
        const [inRange] = await database.rows<{ count: number }>(
          "select count(*)::int as count from inference_request where account = $1 and model = 'rare' and created_at >= $2",
          [account, from],
        );
        expect(rows.length).toBe(inRange?.count);
      },
      await openTestDatabase(kind),
    );
  });

  test("any number of processes may add up at once, and a rebuild finds the same sums", async () => {
    await withUsage(
      async (database, _seeded, rollups) => {
        const others = Array.from({ length: 3 }, () => new UsageRollups({ database, log: LOG }));
        await Promise.all([rollups, ...others].map((one) => one.sweep(1)));
        await rollups.sweep(1);
        const sums = await sumsOf(database);
        expect(sums.length).toBeGreaterThan(100);
        expect(await rollupFaults(database)).toBe(0);
        expect(await rollups.rebuild()).toBe(VOLUME.requests);
        expect(await sumsOf(database)).toEqual(sums);
      },
      await openTestDatabase(kind),
    );
  });

  test("only accounts with enough new requests are swept", async () => {
    await withUsage(
      async (database, _seeded, rollups) => {
        const [pending] = await database.rows<{ count: number }>(
          "select usage_count::int as count from account order by usage_count desc, address offset $1 limit 1",
          [OTHER_ACCOUNT],
        );
        const swept = await database.rows<{ sum: number }>(
          "select sum(usage_count)::int as sum from account where usage_count >= $1",
          [pending?.count],
        );
        expect(await rollups.sweep(pending?.count)).toBe(swept[0]?.sum);
        expect((await database.rows("select 1 from usage_rolled")).length).toBeLessThan(VOLUME.accounts);
      },
      await openTestDatabase(kind),
    );
  });

  test("a request that is missing stops the sums of its account alone, and is reported", async () => {
    await withUsage(
      async (database, seeded, rollups) => {
        await database.rows(
          "delete from inference_request where account = $1 and usage_number = (select min(usage_number) + 1 from inference_request where account = $1)",
          [seeded.account],
        );
        await expect(rollups.sweep(1)).rejects.toThrow(/numbered without gaps/);
        const rolled = await database.rows("select account from usage_rolled where usage_number > 0");
        expect(rolled.length).toBe(VOLUME.accounts - 1);
        expect(
          await database.rows("select 1 from usage_rollup where account = $1", [seeded.account]),
        ).toEqual([]);
      },
      await openTestDatabase(kind),
    );
  });
});

test("a stop does not wait for the accounts that are left", async () => {
  await withUsage(
    async (database, _seeded, rollups) => {
      const sweeping = rollups.sweep(1);
      await rollups.stop();
      expect(await sweeping).toBeLessThan(VOLUME.requests);
      expect(await new UsageRollups({ database, log: LOG }).sweep(1)).toBeGreaterThan(0);
    },
    await openTestDatabase("embedded"),
  );
});

test.each([
  [
    "a sum",
    "update usage_rollup set cost = cost + 1 where ctid = (select ctid from usage_rollup where account = $1 and grain = 'hour' limit 1)",
  ],
  [
    "the list of a day",
    "update usage_day set usage = json_build_array(usage->0) where ctid = (select ctid from usage_day where account = $1 and json_array_length(usage) > 1 limit 1)",
  ],
])("%s that is wrong is a fault of the ledger", async (_what, spoil) => {
  await withUsage(
    async (database, seeded, rollups) => {
      await rollups.sweep(1);
      await database.rows(spoil, [seeded.account]);
      expect(await rollupFaults(database)).toBe(1);
    },
    await openTestDatabase("embedded"),
  );
});
