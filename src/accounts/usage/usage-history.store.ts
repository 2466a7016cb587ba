import { runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import type { Scan } from "../../kernel/page.ts";
import type { Tags } from "../tags/tags.ts";
import { recordedSaving } from "./cache-saving.ts";
import {
  IS_USAGE,
  ROLLED_UP_TO,
  sumsOf,
  TOKENS,
  type TotalsRow,
  type TrustMode,
  toTotals,
  type UsageFilter,
  type UsageRead,
  type UsageRow,
  type UsageTotals,
  usageConditions,
} from "./usage.store.ts";

/** The page that is read: `limit` requests beyond the number `from`, without the first `skip`. */
type HistoryPage = {
  readonly scan: Scan;
  readonly from: bigint | undefined;
  readonly skip: number;
  readonly limit: number;
};

/** At most `limit` requests that match the filter, in the order of `scan`. */
export async function listUsage(read: UsageRead, page: HistoryPage): Promise<readonly UsageRow[]> {
  const where = new Parameters(read.account);
  const [limit, skip] = [where.add(page.limit), where.add(page.skip)];
  const { order } = page.scan;
  const from = page.from === undefined ? undefined : `${where.add(page.from.toString())}::bigint`;
  const isFiltered = Object.values(read.filter).some((value) => value !== undefined);
  const numbers =
    isFiltered && page.skip <= MAX_SKIP && order === "desc"
      ? matching(where, read.filter, { before: from, needed: `(${limit}::integer + ${skip}::integer)` })
      : { tables: [], text: requests(where, read.filter, isBeyond(page.scan, from)) };
  const chosen = `page as (
    select m.usage_number from (${numbers.text}) as m
    order by m.usage_number ${order} limit ${limit}::integer offset ${skip}::integer)`;
  // The index alone selects the rows of the page, however many are filtered out or skipped before it.
  const text = `with ${[...numbers.tables, chosen].join(", ")}
    select r.* from page
    cross join lateral (
      select ${HISTORY_COLUMNS} from inference_request r
      where r.account = $1::text and r.usage_number = page.usage_number and r.usage_number is not null limit 1
    ) as r
    order by page.usage_number ${order}`;
  const rows = await runRead<HistoryRow>(read, { text, values: where.values });
  return rows.map(toUsageRow);
}

type Wanted = { readonly before: string | undefined; readonly needed: string };

/** So many of the newest numbers are read one by one: a frequent filter finds its page there. */
const RECENT = 5_000;
/** To skip more matches than this, the stored sums would have to be read for nearly all days. */
const MAX_SKIP = 1_000;

/**
 * The numbers of the requests that match a filter: the newest ones one by one, and if these are not enough, older ones
 * without the days that have no match, as the stored sums say. `bound` is a number from which on those days have as
 * many matches as are `needed`; nothing below it is read. A day that is only in part in the range, or only in part
 * before the newest ones, does not count towards it. Days may overlap in their numbers, as a request gets its own at
 * its end.
 */
function matching(where: Parameters, filter: UsageFilter, { before, needed }: Wanted) {
  const { from, before: until } = filter;
  const fromText = from && `${where.add(from.toISOString())}::timestamptz`;
  const untilText = until && `${where.add(until.toISOString())}::timestamptz`;
  const isOfDay = [
    ...usageConditions(where, filter, "sums", { from: undefined, before: undefined }),
    ...(fromText ? [`r.starts_at > ${fromText} - interval '24 hours'`] : []),
    ...(untilText ? [`r.starts_at < ${untilText}`] : []),
    `r.first_number <= ${FLOOR}`,
  ];
  const isWhole = [
    ...(fromText ? [`r.starts_at >= ${fromText}`] : []),
    ...(untilText ? [`r.starts_at + interval '24 hours' <= ${untilText}`] : []),
    `r.last_number <= ${FLOOR}`,
  ];
  const recentNumbers = requests(
    where,
    filter,
    `r.usage_number > ${FLOOR} and ${isBeyond(NEWEST_FIRST, before)}`,
  );
  const olderNumbers = requests(
    where,
    filter,
    `r.usage_number >= greatest(g.first, (select number from bound)) and r.usage_number < g."end"
      and r.usage_number <= ${FLOOR}`,
  );
  return {
    tables: [
      `recent_floor as materialized (select least(${ROLLED_UP_TO}, ${before ?? "null"}) - ${RECENT} as number)`,
      `recent as materialized (${recentNumbers} order by r.usage_number desc limit ${needed})`,
      `days as materialized (
        select r.starts_at, min(r.first_number) as first, max(r.last_number) as last,
          coalesce(sum(r.requests) filter (where ${isWhole.join(" and ")}), 0) as requests
        from ${sumsOf(filter)} r where r.grain = 'day' and ${isOfDay.join(" and ")} group by r.starts_at)`,
      `bound as materialized (
        select coalesce(max(b.first), 0) as number from (
          select min(d.first) over newest as first, sum(d.requests) over newest as requests
          from days d window newest as (order by d.last desc, d.starts_at)
        ) as b where b.requests >= ${needed})`,
      `ranges as materialized (
        select lower(u.range) as first, upper(u.range) as "end" from (
          select unnest(range_agg(int8range(d.first, d.last, '[]'))) as range
          from days d where d.last >= (select number from bound)
        ) as u)`,
    ],
    text: `select usage_number from recent
      union all
      select n.usage_number from ranges g cross join lateral (${olderNumbers} offset 0) as n
      where (select count(*) from recent) < ${needed}`,
  };
}

/** SQL for the numbers of the requests that match a filter and a condition. */
function requests(where: Parameters, filter: UsageFilter, condition: string): string {
  const conditions = [IS_USAGE, ...usageConditions(where, filter, "requests", filter), condition];
  return `select r.usage_number from inference_request r where ${conditions.join(" and ")}`;
}

function isBeyond({ beyond }: Scan, from: string | undefined): string {
  return from === undefined ? "true" : `r.usage_number ${beyond} ${from}`;
}

const NEWEST_FIRST = { order: "desc", beyond: "<" } as const;

const FLOOR = "(select number from recent_floor)";

type HistoryRow = TotalsRow & {
  id: string;
  request_id: string;
  created_ms: string;
  model: string;
  provider: string;
  api_key_id: string | null;
  input_price: string;
  output_price: string;
  input_cost: string;
  output_cost: string;
  deposit_used: string;
  credit_used: string;
  trust_mode: TrustMode;
  cached_from: string | null;
  whole_input_cost: string | null;
  tags: Tags | null;
};

function toUsageRow(row: HistoryRow): UsageRow {
  const { requests: _one, ...amounts } = toTotals(row);
  return {
    ...amounts,
    id: BigInt(row.id),
    requestId: row.request_id,
    createdAt: new Date(Number(row.created_ms)),
    model: row.model,
    provider: row.provider,
    apiKeyId: row.api_key_id,
    cacheSaving: row.cached_from === null ? savingOf(row, amounts) : null,
    depositUsed: BigInt(row.deposit_used),
    creditUsed: BigInt(row.credit_used),
    trustMode: row.trust_mode,
    cachedFrom: row.cached_from,
    tags: row.tags ?? {},
  };
}

function savingOf(row: HistoryRow, amounts: Omit<UsageTotals, "requests">): bigint | null {
  return recordedSaving({
    ...amounts,
    cacheTokens: amounts.cachedTokens + amounts.cacheWriteTokens + amounts.cacheWrite1hTokens,
    inputPrice: BigInt(row.input_price),
    outputPrice: BigInt(row.output_price),
    inputCost: BigInt(row.input_cost),
    outputCost: BigInt(row.output_cost),
    wholeInputCost: row.whole_input_cost === null ? undefined : BigInt(row.whole_input_cost),
  });
}

const HISTORY_COLUMNS = `
  r.usage_number::text as id, r.id as request_id, r.model, r.provider, r.api_key_id::text as api_key_id,
  floor(extract(epoch from r.created_at) * 1000)::bigint::text as created_ms, '1' as requests,
  ${TOKENS.map((name) => `coalesce(r.${name}, 0)::text as ${name}`).join(", ")},
  r.input_price::text as input_price, r.output_price::text as output_price,
  coalesce(r.input_cost, 0)::text as input_cost, coalesce(r.output_cost, 0)::text as output_cost,
  r.total_cost::text as cost, r.deposit_used::text as deposit_used, r.credit_used::text as credit_used,
  r.trust_mode, r.tags, r.routing->>'cachedFrom' as cached_from,
  r.routing->>'inputCost' as whole_input_cost`;
