import { Conditions } from "../../accounts/usage/usage.store.ts";
import type { AccountReads, Statement } from "../../db/account-reads.ts";
import { countRows, type RowCount } from "../../db/count-rows.ts";
import type { Scan } from "../../kernel/page.ts";
import type { Verdict } from "../evidence/tee-signature.ts";
import type { InferenceRequestRow } from "./request.row.ts";

/** Filters the requests of an account; every condition must hold. Costs are neuron, and both bounds are inclusive. */
export type RequestFilter = {
  readonly statuses?: readonly InferenceRequestRow["status"][] | undefined;
  readonly modelId?: string | undefined;
  /** In lower case. */
  readonly provider?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly serviceType?: string | undefined;
  readonly minCost?: bigint | undefined;
  readonly maxCost?: bigint | undefined;
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly before?: Date | undefined;
  readonly verdict?: Verdict | undefined;
  readonly errorCode?: string | undefined;
  /** The first characters of the request's id. */
  readonly idPrefix?: string | undefined;
};

/** A read of the requests of an account: the connection, the account, the filter, and a signal that cancels it. */
export type RequestRead = {
  readonly reads: AccountReads;
  readonly account: string;
  readonly filter: RequestFilter;
  readonly signal?: AbortSignal | undefined;
};

/** What a list is ordered by, before the time of admission and the id: a running request costs nothing yet. */
export type RequestSort = "created" | "cost";

/** The place at which a page begins: the admission and the id of a request, and its cost if the list is ordered by it. */
export type RequestPlace = { readonly at: Date; readonly id: string; readonly cost?: bigint };

const COST = "coalesce(r.total_cost, 0)";
const KEYS = {
  created: ["r.created_at", "r.id"],
  cost: [COST, "r.created_at", "r.id"],
} as const;

/** The ids of at most `limit` requests that match the filter, in the order of `scan`, beyond `from`. */
export async function listRequestIds(
  read: RequestRead,
  {
    sort,
    scan,
    from,
    limit,
  }: {
    readonly sort: RequestSort;
    readonly scan: Scan;
    readonly from: RequestPlace | undefined;
    readonly limit: number;
  },
): Promise<readonly string[]> {
  const where = new Conditions(read.account);
  const conditions = conditionsOf(where, read.filter);
  if (sort === "cost") conditions.push(OF_ACCOUNT);
  if (from) {
    const place = [
      `${where.parameter(from.at.toISOString())}::timestamptz`,
      `${where.parameter(from.id)}::text`,
    ];
    if (sort === "cost") place.unshift(`${where.parameter(`${from.cost ?? 0n}`)}::numeric`);
    conditions.push(`(${KEYS[sort].join(", ")}) ${scan.beyond} (${place.join(", ")})`);
  }
  const order = KEYS[sort].map((key) => `${key} ${scan.order}`).join(", ");
  const text = `select r.id from inference_request r where ${conditions.join(" and ")}
    order by ${order} limit ${where.parameter(limit)}::integer`;
  const rows = await run<{ id: string }>(read, { text, values: where.values });
  return rows.map(({ id }) => id);
}

/** How many requests match the filter. */
export function countRequests(read: RequestRead): Promise<RowCount> {
  const where = new Conditions(read.account);
  const text = `select 1 from inference_request r where ${conditionsOf(where, read.filter).join(" and ")}`;
  return countRows((statement) => run(read, statement), { text, values: where.values });
}

function run<Row>({ reads, account, signal }: RequestRead, statement: Statement): Promise<readonly Row[]> {
  return reads.rows<Row>(account, statement, signal);
}

function conditionsOf(where: Conditions, filter: RequestFilter): string[] {
  const conditions = ["r.account = $1::text"];
  const add = (value: string | undefined, condition: (parameter: string) => string) =>
    where.add(value, (parameter) => conditions.push(condition(parameter)));
  if (filter.statuses) conditions.push(`r.status = any(${where.parameter(filter.statuses)}::text[])`);
  add(filter.modelId, (parameter) => hashed("model", parameter));
  add(filter.provider, (parameter) => hashed("provider", parameter));
  add(filter.apiKeyId, (parameter) => hashed("api_key_id::text", parameter));
  add(filter.serviceType, (parameter) => `r.service_type = ${parameter}::text`);
  if (filter.minCost !== undefined || filter.maxCost !== undefined)
    conditions.push(`${OF_ACCOUNT} and r.total_cost is not null`);
  add(filter.minCost?.toString(), (parameter) => `${COST} >= ${parameter}::numeric`);
  add(filter.maxCost?.toString(), (parameter) => `${COST} <= ${parameter}::numeric`);
  add(filter.from?.toISOString(), (parameter) => `r.created_at >= ${parameter}::timestamptz`);
  add(filter.before?.toISOString(), (parameter) => `r.created_at < ${parameter}::timestamptz`);
  add(
    filter.verdict,
    (parameter) =>
      `r.id in (select e.request_id from request_evidence e where e.verdict = ${parameter}::text)`,
  );
  // The statuses for the index of requests that failed; only these have a code.
  add(
    filter.errorCode,
    (parameter) => `r.status in ('failed', 'aborted') and r.error_code = ${parameter}::text`,
  );
  add(filter.idPrefix, (parameter) => `starts_with(r.id, ${parameter}::text)`);
  return conditions;
}

/** SQL: the account as it is in the index by cost. */
const OF_ACCOUNT = "hashtextextended(r.account, 0) = hashtextextended($1::text, 0)";

/**
 * SQL: a column has a value. The account and the value are compared as they are in the index by this column; the `case`
 * keeps the planner from multiplying the estimates of both conditions.
 */
function hashed(column: string, parameter: string): string {
  return `hashtextextended(r.account || ' ' || r.${column}, 0) = hashtextextended($1::text || ' ' || ${parameter}::text, 0)
    and case when r.${column} = ${parameter}::text then true else false end`;
}
