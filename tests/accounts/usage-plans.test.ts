// @module-tag large
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { type UsageFilter, UsageService, usageCursor } from "../../src/accounts/usage/usage.service.ts";
import type { Statement } from "../../src/db/account-reads.ts";
import type { Queries } from "../../src/db/database.ts";
import {
  countRequests,
  listRequestIds,
  type RequestFilter,
} from "../../src/inference/requests/request-list.store.ts";
import { scanOf } from "../../src/kernel/page.ts";
import { type SeededUsage, seedUsage, type UsageVolume } from "../support/seed-usage.ts";
import { borrowServerDatabase, openTestDatabase } from "../support/servers/database.ts";

const VOLUME = { accounts: 50, requests: 20_000, statistics: true };
const EMBEDDED_VOLUME = { accounts: 10, requests: 2_000, statistics: false };
/** The indexes that a usage read may use: by account, or by a key, which belongs to one account. */
const INDEXES =
  /^(?:inference_request_(?:usage|account|key)|usage_rollup_once|usage_rolled_pkey|usage_day_pkey)$/;

/** Every combination of filters, each present or absent. */
function shapesOf({ keyId, model }: SeededUsage): readonly UsageFilter[] {
  const day = new Date(Date.now() - 30 * 86_400_000);
  const filters: readonly UsageFilter[] = [
    { apiKeyId: keyId },
    { source: "api_key" },
    { source: "wallet" },
    { from: day },
    { before: day },
    { trustMode: "verified" },
    { modelId: model },
  ];
  return Array.from({ length: 2 ** filters.length }, (_, chosen) =>
    Object.assign({}, ...filters.filter((_filter, n) => chosen & (1 << n))),
  );
}

/** The statements of the service for each combination of filters and each kind of read. */
async function statementsOf(seeded: SeededUsage): Promise<readonly Statement[]> {
  const statements = new Map<string, Statement>();
  const service = new UsageService({
    rows: async <Row>(_account: string, statement: Statement) => {
      statements.set(statement.text, statement);
      return [{ requests: 0, cost: 0, input_tokens: 0, output_tokens: 0, ...NO_CACHE }] as Row[];
    },
  });
  const none = () => undefined;
  for (const filter of shapesOf(seeded)) {
    const after = usageCursor({ id: 1_000n });
    await service.stats(seeded.account, filter);
    await service.daily(seeded.account, filter).catch(none);
    await service.daily(seeded.account, filter, { byTrustMode: true }).catch(none);
    await service.history(seeded.account, filter, { first: 100 }).catch(none);
    await service.history(seeded.account, filter, { first: 100, after }).catch(none);
    await service.history(seeded.account, filter, { first: 100, skip: 500 }).catch(none);
  }
  return [...statements.values()];
}

const NO_CACHE = { cached_tokens: 0, cache_write_tokens: 0, cache_write_1h_tokens: 0 };

type Plan = { "Node Type": string; "Index Name"?: string; "Relation Name"?: string; Plans?: Plan[] };

async function planOf(queries: Queries, explain: string, values: readonly unknown[]): Promise<Plan> {
  const [row] = await queries.rows<{ "QUERY PLAN": [{ Plan: Plan }] }>(explain, values);
  if (!row) throw new Error("a plan has one row");
  return row["QUERY PLAN"][0].Plan;
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/**
 * Fills a database for `work`, and empties it before it is audited: its ledger has no entries for these
 * requests.
 */
async function withUsage(
  queries: Queries,
  volume: UsageVolume,
  work: (seeded: SeededUsage) => Promise<void>,
): Promise<void> {
  try {
    await work(await seedUsage(queries, volume));
  } finally {
    await queries.rows("truncate account, inference_request cascade");
  }
}

function requireIndexes(plan: Plan, text: string): void {
  const readsTable = nodesOf(plan).filter((node) => "Relation Name" in node || "Index Name" in node);
  expect(readsTable.length, text).toBeGreaterThan(0);
  for (const node of nodesOf(plan)) {
    // The stored sums are empty here: once a server has analysed such a table, it reads its nothing as a whole.
    if (/^usage_(?:roll|day)/.test(node["Relation Name"] ?? "")) continue;
    expect(node["Node Type"], text).not.toBe("Seq Scan");
    if (node["Index Name"] !== undefined) expect(node["Index Name"], text).toMatch(INDEXES);
  }
}

/** Queries of an empty database of the server, on one connection. */
async function connectToServer(): Promise<Queries["rows"]> {
  const client = new pg.Client(await borrowServerDatabase(onTestFinished));
  await client.connect();
  onTestFinished(() => client.end());
  return async <Row>(sql: string, values: readonly unknown[] = []) =>
    (await client.query(sql, [...values])).rows as Row[];
}

test.skipIf(!inject("postgresUrl"))(
  "on a server, no usage filter reads another account's requests, and sums never read the table of requests",
  async () => {
    const rows = await connectToServer();
    await withUsage({ rows }, VOLUME, async (seeded) => {
      const statements = await statementsOf(seeded);
      expect(statements.length).toBeGreaterThan(200);
      for (const { text, values } of statements)
        requireIndexes(await planOf({ rows }, `explain (format json) ${text}`, values), text);
      const [stats] = statements;
      const sums = await planOf({ rows }, `explain (format json) ${stats?.text}`, stats?.values ?? []);
      const reads = nodesOf(sums).filter((node) => node["Relation Name"] === "inference_request");
      expect(reads.map((node) => node["Node Type"])).toEqual(["Index Only Scan"]);
    });
  },
);

test.skipIf(!inject("postgresUrl"))(
  "on a server, no filter of requests reads another index entirely beside the one that has the filter",
  async () => {
    const rows = await connectToServer();
    await withUsage({ rows }, VOLUME, async (seeded) => {
      // A table as small as this one is read as a whole in no time.
      await rows("set enable_seqscan = off");
      for (const { text, values, isOrdered } of await requestStatements(seeded)) {
        await rows(`set enable_bitmapscan = ${isOrdered ? "off" : "on"}`);
        const nodes = nodesOf(await planOf({ rows }, `explain (format json) ${text}`, values));
        expect(
          nodes.map((node) => node["Node Type"]),
          text,
        ).not.toContain("BitmapAnd");
      }
    });
  },
);

test.skipIf(!inject("postgresUrl"))(
  "on a server, a verdict is counted in the index of its account, whatever part of all evidence that has",
  async () => {
    const rows = await connectToServer();
    await withUsage({ rows }, VOLUME, async ({ account }) => {
      await rows(
        `insert into request_evidence (request_id, provider, verdict, account)
         select 'checked-' || n, '0x', 'verified', case when n % 2 = 0 then $1 else '0x' || n % 9 end
         from generate_series(1, 30000) n`,
        [account],
      );
      await rows("vacuum analyze request_evidence");
      const { reads, statements } = recordStatements();
      await countRequests({ reads, account, filter: { verdict: "verified" } });
      expect(statements).toHaveLength(1);
      for (const { text, values } of statements) {
        const nodes = nodesOf(await planOf({ rows }, `explain (format json) ${text}`, values));
        const evidence = nodes.filter((node) => node["Relation Name"] === "request_evidence");
        expect(evidence.map((node) => node["Index Name"])).toEqual(
          Array(2).fill("request_evidence_of_account"),
        );
        expect(nodes.map((node) => node["Node Type"])).not.toContain("Sort");
      }
    });
  },
);

/** Reads that return no rows, and the statements that were sent to them. */
function recordStatements() {
  const statements: Statement[] = [];
  const reads = {
    rows: async <Row>(_account: string, statement: Statement) => {
      statements.push(statement);
      return [] as Row[];
    },
  };
  return { reads, statements };
}

/** The first page, the page by cost and the count for each filter of requests that an index has. */
async function requestStatements({ account, keyId, model }: SeededUsage): Promise<readonly Statement[]> {
  const { reads, statements } = recordStatements();
  const day = new Date(Date.now() - 30 * 86_400_000);
  const filters: readonly RequestFilter[] = [
    ...[
      {},
      { modelId: model },
      { apiKeyId: keyId },
      { provider: "0x01" },
      { modelId: model, apiKeyId: keyId },
    ],
    ...[{ statuses: ["completed"] as const }, { errorCode: "timeout" }, { minCost: 1n }, { from: day }],
    ...[{ tag: { name: "team", value: "a" } }, { modelId: model, tag: { name: "team", value: "a" } }],
  ];
  for (const filter of filters) {
    const read = { reads, account, filter };
    for (const sort of ["created", "cost"] as const)
      await listRequestIds(read, { sort, scan: scanOf({ first: 20 }, "desc"), from: undefined, limit: 21 });
    await countRequests(read);
  }
  return statements;
}

test("embedded, with one generic plan, no usage filter reads another account's requests", async () => {
  const database = await openTestDatabase("embedded");
  await withUsage(database, EMBEDDED_VOLUME, async (seeded) => {
    for (const [n, { text, values }] of (await statementsOf(seeded)).entries()) {
      await database.rows(`prepare plan_${n} as ${text}`);
      const literals = values.map((value) => pg.escapeLiteral(String(value))).join(", ");
      const explain = `explain (format json) execute plan_${n}(${literals})`;
      requireIndexes(await planOf(database, explain, []), text);
      await database.rows(`deallocate plan_${n}`);
    }
  });
});
