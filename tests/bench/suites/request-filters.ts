import type { AccountReads, Statement } from "../../../src/db/account-reads.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { countRequests, listRequestIds } from "../../../src/inference/requests/request-list.store.ts";
import { type RequestFilter, RequestsService } from "../../../src/inference/requests/requests.service.ts";
import { scanOf } from "../../../src/kernel/page.ts";
import type { SeededUsage } from "../../support/seed-usage.ts";
import { quantile } from "../load.ts";

const DAY_MS = 86_400_000;
const RUNS = 7;

/** What a seeded history lacks: failures, values that few requests have, and evidence. */
const RARE = [
  `update inference_request set status = 'failed',
     error_code = case when usage_number % 1000 = 0 then 'timeout' else 'provider_error' end
   where account = $1 and usage_number % 50 = 0`,
  `update inference_request set model = 'rare-model', provider = '0xrare', total_cost = 900000000
   where account = $1 and usage_number % 20000 = 7`,
  `insert into request_evidence (request_id, provider, verdict, account)
   select id, provider, case when usage_number % 5000 = 9 then 'forged' else 'verified' end, account
   from inference_request where account = $1 and usage_number % 3 = 0`,
];

/**
 * The time of a first page of the requests of the account with most of them, in both orders, and of their count; in
 * brackets the execution time of PostgreSQL, and how it reads the table of requests.
 */
export async function benchRequestFilters(
  url: string,
  seeded: SeededUsage,
  print: (line: string) => void,
): Promise<void> {
  const database = await openDatabase({ kind: "server", url, poolSize: 2 });
  try {
    for (const statement of RARE) await database.rows(statement, [seeded.account]);
    await database.rows("vacuum analyze inference_request");
    await database.rows("vacuum analyze request_evidence");
    const requests = new RequestsService(database);
    const byCost = { sort: "cost", direction: "desc" } as const;
    for (const [name, filter] of Object.entries(filtersOf(seeded))) {
      const page = (order?: typeof byCost) => () =>
        requests.list(seeded.account, { first: 20 }, { filter, ...(order && { order }) });
      const times = [
        await timeOf(page()),
        await timeOf(page(byCost)),
        await timeOf(() => requests.count(seeded.account, filter)),
      ].map((ms) => ms.toFixed(1).padStart(6));
      const read = { reads: explaining(database.reads), account: seeded.account, filter };
      const limits = { scan: scanOf({ first: 20 }, "desc"), from: undefined, limit: 21 };
      for (const sort of ["created", "cost"] as const) await listRequestIds(read, { sort, ...limits });
      await countRequests(read);
      const [first, second, third = "estimated"] = read.reads.plans;
      print(
        `  ${times[0]} ms (${first}), by cost ${times[1]} ms (${second}), count ${times[2]} ms (${third})  ${name}`,
      );
    }
  } finally {
    await database.close();
  }
}

/** Reads that explain and execute each statement, and return no rows. */
function explaining(reads: AccountReads): AccountReads & { readonly plans: readonly string[] } {
  const plans: string[] = [];
  return {
    plans,
    async rows<Row>(account: string, statement: Statement) {
      // The estimate of a total.
      if (statement.text.startsWith("explain")) return reads.rows<Row>(account, statement);
      const text = `explain (analyze, format json) ${statement.text}`;
      const [row] = await reads.rows<{ "QUERY PLAN": [Explained] }>(account, { ...statement, text });
      if (row) plans.push(describe(row["QUERY PLAN"][0]));
      return [];
    },
  };
}

type Plan = {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Plan[];
};
type Explained = { readonly Plan: Plan; readonly "Execution Time": number };

function describe({ Plan: plan, "Execution Time": ms }: Explained): string {
  const scans = nodesOf(plan).flatMap((node) => {
    const of = node["Index Name"] ?? node["Relation Name"];
    return of === undefined ? [] : [`${node["Node Type"]} ${of}`];
  });
  return `${ms.toFixed(1)}: ${scans.join(", ")}`;
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function filtersOf({ keyId, model }: SeededUsage): Readonly<Record<string, RequestFilter>> {
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS);
  return {
    "no filter": {},
    "status, frequent": { statuses: ["completed"] },
    "status, rare": { statuses: ["failed"] },
    "model, frequent": { modelId: model },
    "model, 10 requests": { modelId: "rare-model" },
    "model, none": { modelId: "none" },
    "provider, 10 requests": { provider: "0xrare" },
    "key, frequent": { apiKeyId: keyId },
    "key, none": { apiKeyId: "11111111-1111-4111-8111-111111111111" },
    "cost, frequent": { minCost: 300_000n },
    "cost, 10 requests": { minCost: 899_999_999n },
    "one day": { from: ago(30), before: ago(29) },
    "verdict, frequent": { verdict: "verified" },
    "verdict, rare": { verdict: "forged" },
    "error code, frequent": { errorCode: "provider_error" },
    "error code, rare": { errorCode: "timeout" },
    "id, a 256th": { idPrefix: "req-ab" },
    "id, none": { idPrefix: "none" },
  };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return quantile(
    times.toSorted((one, other) => one - other),
    0.5,
  );
}
