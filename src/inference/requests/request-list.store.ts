import type { Tag } from "../../accounts/tags/tags.ts";
import { type AccountRead, queriesOf, runRead } from "../../db/account-queries.ts";
import { countRows, type RowCount } from "../../db/count-rows.ts";
import { Parameters } from "../../db/parameters.ts";
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
  readonly tag?: Tag | undefined;
};

/** A read of the requests of an account. */
type RequestRead = AccountRead<RequestFilter>;

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
  const where = new Parameters(read.account);
  const conditions = [...conditionsOf(where, read.filter), ...(sort === "cost" ? [OF_ACCOUNT] : [])];
  if (from) {
    const cost = sort === "cost" ? [`${where.add(`${from.cost ?? 0n}`)}::numeric`] : [];
    const place = [
      ...cost,
      `${where.add(from.at.toISOString())}::timestamptz`,
      `${where.add(from.id)}::text`,
    ];
    conditions.push(`(${KEYS[sort].join(", ")}) ${scan.beyond} (${place.join(", ")})`);
  }
  const order = KEYS[sort].map((key) => `${key} ${scan.order}`).join(", ");
  const text = `select r.id from inference_request r where ${conditions.join(" and ")}
    order by ${order} limit ${where.add(limit)}::integer`;
  const rows = await runRead<{ id: string }>(read, { text, values: where.values, ...planOf(read.filter) });
  return rows.map(({ id }) => id);
}

/** How many requests match the filter. */
export function countRequests(read: RequestRead): Promise<RowCount> {
  const { verdict, ...others } = read.filter;
  const where = new Parameters(read.account);
  const queries = queriesOf(read, planOf(read.filter));
  if (verdict && Object.values(others).every((condition) => condition === undefined))
    return countRows(queries, { text: COUNT_VERDICT, values: [read.account, verdict] }, undefined);
  const text = `select 1 from inference_request r where ${conditionsOf(where, read.filter).join(" and ")}`;
  // With other conditions, the evidence of each request is looked up.
  const isCostly = verdict !== undefined;
  return countRows(queries, { text, values: where.values }, KEYS.created.join(", "), { isCostly });
}

/** The index of tags has no order, and is read by bitmaps alone. */
function planOf({ tag }: RequestFilter): { readonly isOrdered: boolean } {
  return { isOrdered: !tag };
}

function conditionsOf(where: Parameters, filter: RequestFilter): readonly string[] {
  const { minCost, maxCost } = filter;
  return [
    "r.account = $1::text",
    ...where.when(filter.statuses, (parameter) => `r.status = any(${parameter}::text[])`),
    ...where.when(filter.modelId, (parameter) => hashed("model", parameter)),
    ...where.when(filter.provider, (parameter) => hashed("provider", parameter)),
    ...where.when(filter.apiKeyId, (parameter) => hashed("api_key_id::text", parameter)),
    ...where.when(filter.serviceType, (parameter) => `r.service_type = ${parameter}::text`),
    ...((minCost ?? maxCost) === undefined ? [] : [`${OF_ACCOUNT} and r.total_cost is not null`]),
    ...where.when(minCost?.toString(), (parameter) => `${COST} >= ${parameter}::numeric`),
    ...where.when(maxCost?.toString(), (parameter) => `${COST} <= ${parameter}::numeric`),
    ...where.when(filter.from?.toISOString(), (parameter) => `r.created_at >= ${parameter}::timestamptz`),
    ...where.when(filter.before?.toISOString(), (parameter) => `r.created_at < ${parameter}::timestamptz`),
    ...where.when(
      filter.verdict,
      (parameter) =>
        // The previous version left the account of evidence empty.
        `r.id in (select e.request_id from request_evidence e
          where e.account = any(array[$1::text, '']) and e.verdict = ${parameter}::text)`,
    ),
    // The statuses for the index of requests that failed; only these have a code.
    ...where.when(
      filter.errorCode,
      (parameter) => `r.status in ('failed', 'aborted') and r.error_code = ${parameter}::text`,
    ),
    ...where.when(filter.idPrefix, (parameter) => `starts_with(r.id, ${parameter}::text)`),
    ...(filter.tag ? [hasTag(where, filter.tag)] : []),
  ];
}

/** SQL: the account as it is in the index by cost. */
const OF_ACCOUNT = "hashtextextended(r.account, 0) = hashtextextended($1::text, 0)";

/**
 * SQL: the requests of an account with a verdict. Their evidence alone is counted: it is stored just before its request
 * ends. The order keeps the planner from reading the table; evidence without an account is the previous version's.
 */
const COUNT_VERDICT = `
  select 1 from (
    (select request_id from request_evidence where account = $1::text and verdict = $2::text order by request_id)
    union all
    select request_id from request_evidence n where account = '' and verdict = $2::text
      and exists (select 1 from inference_request r where r.id = n.request_id and r.account = $1::text)) e`;

/** SQL: a request has a tag, whose hash is in the index of tags. */
function hasTag(where: Parameters, { name, value }: Tag): string {
  const [named, valued] = [`${where.add(name)}::text`, `${where.add(value)}::text`];
  return `tag_hashes(r.account, r.tags) @> array[hashtextextended($1::text || ' ' || ${named} || '=' || ${valued}, 0)]
    and r.tags is not null and r.tags ->> ${named} = ${valued}`;
}

/**
 * SQL: a column has a value. The account and the value are compared as they are in the index by this column; the `case`
 * keeps the planner from multiplying the estimates of both conditions.
 */
function hashed(column: string, parameter: string): string {
  return `hashtextextended(r.account || ' ' || r.${column}, 0) = hashtextextended($1::text || ' ' || ${parameter}::text, 0)
    and case when r.${column} = ${parameter}::text then true else false end`;
}
