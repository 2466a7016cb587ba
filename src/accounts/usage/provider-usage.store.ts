import { runRead } from "../../db/account-queries.ts";
import type { Queries } from "../../db/database.ts";
import { Parameters } from "../../db/parameters.ts";
import { AppError } from "../../kernel/errors.ts";
import { latencyBinSql, percentileMs } from "../../kernel/latency-bins.ts";
import { divideRange, type Grain, type Part, type TimeRange } from "./time-ranges.ts";
import {
  IS_USAGE,
  TOKENS,
  TOTALS,
  type TotalsRow,
  toTotals,
  USAGE_SUMS,
  type UsageFilter,
  type UsageRead,
  type UsageTotals,
  usageConditions,
} from "./usage.store.ts";

/** The usage of one period with one provider, by its address. */
export type ProviderBucket = UsageTotals & { readonly startsAt: Date; readonly provider: string };

/** How fast requests were answered, and what the providers' caches saved of their cost, in neuron. */
export type UsagePerformance = {
  /** Requests with a first byte, and percentiles of the time to it within 10 %; undefined without such a request. */
  readonly firstByte:
    | { readonly requests: bigint; readonly p50Ms: number; readonly p95Ms: number }
    | undefined;
  readonly cacheSaving: bigint;
};

/** The bin of requests without a first byte. */
const NO_BIN = -1;
const GRAINS: Readonly<Record<Grain, readonly Grain[]>> = {
  hour: ["hour"],
  day: ["day", "hour"],
  month: ["day", "hour"],
};

/** The usage by UTC periods and provider, oldest first, at most `limit` buckets. Throws `invalid_parameter` as `checkFilter`. */
export async function sumUsageByProvider(
  read: UsageRead,
  { grain, limit }: { readonly grain: Grain; readonly limit: number },
): Promise<readonly ProviderBucket[]> {
  const where = new Parameters(read.account);
  const source = providerRows(where, read.filter, GRAINS[grain]);
  const text = `select floor(extract(epoch from b.at) * 1000)::bigint::text as at_ms, b.* from (
      select date_trunc('${grain}', u.at, 'UTC') as at, u.provider, ${TOTALS} from ${source}
      group by 1, 2 order by 1, 2 limit ${where.add(limit)}::integer
    ) as b`;
  type Row = TotalsRow & { at_ms: string; provider: string };
  const rows = await runRead<Row>(read, { text, values: where.values });
  return rows.map((row) => ({
    startsAt: new Date(Number(row.at_ms)),
    provider: row.provider,
    ...toTotals(row),
  }));
}

/** How fast the requests of a range of time were answered. Throws `invalid_parameter` as `checkFilter`. */
export async function sumPerformance(read: UsageRead): Promise<UsagePerformance> {
  const where = new Parameters(read.account);
  const source = providerRows(where, read.filter, ["day", "hour"]);
  const text = `select u.bin, sum(u.requests)::text as requests, sum(u.cache_saving)::text as cache_saving
    from ${source} group by u.bin`;
  type Row = { bin: number; requests: string; cache_saving: string };
  const rows = await runRead<Row>(read, { text, values: where.values });
  const bins = rows
    .filter(({ bin }) => bin !== NO_BIN)
    .map(({ bin, requests }) => ({ bin, count: Number(requests) }));
  const [p50Ms, p95Ms] = [percentileMs(bins, 0.5), percentileMs(bins, 0.95)];
  const requests = BigInt(bins.reduce((sum, { count }) => sum + count, 0));
  return {
    firstByte: p50Ms === undefined || p95Ms === undefined ? undefined : { requests, p50Ms, p95Ms },
    cacheSaving: rows.reduce((sum, row) => sum + BigInt(row.cache_saving), 0n),
  };
}

/**
 * Adds the next requests of an account, at most `limit`, to its sums by provider. Returns how many; 0 if none is left,
 * or another process is adding.
 */
export async function rollUpProviders(queries: Queries, account: string, limit: number): Promise<number> {
  await queries.rows(BEGIN, [account]);
  const [row] = await queries.rows<{ added: string }>(ROLL_UP, [account, limit]);
  return Number(row?.added ?? 0);
}

/** The sums that are compared with the requests, each with its value of a request `r`. */
const COMPARED = {
  requests: "1",
  cost: "r.total_cost",
  input_tokens: "r.input_tokens",
  output_tokens: "r.output_tokens",
} as const;
type Compared = keyof typeof COMPARED;
const compared = Object.keys(COMPARED) as Compared[];
const sumsOf = (column: (name: Compared) => string) =>
  compared.map((name) => `coalesce(sum(${column(name)}), 0) as ${name}`).join(", ");
const storedOf = (grain: "hour" | "day") =>
  `(select account, ${sumsOf((name) => name)} from usage_provider_rollup where grain = '${grain}' group by account)`;

/**
 * SQL: accounts whose stored sums by provider are not those of their requests, as `fault` and `subject`. Of the requests
 * that were removed, those removed before these sums existed are not in them.
 */
export const PROVIDER_ROLLUP_FAULTS = `
  select 'the sums of usage by provider are not those of the requests' as fault, a.address as subject
  from account a
  left join usage_provider_rolled p on p.account = a.address
  cross join lateral (select ${sumsOf((name) => COMPARED[name])} from inference_request r
    where r.account = a.address and r.usage_number <= p.usage_number) r
  cross join lateral (select ${sumsOf((name) => `m.${name}`)} from removed_usage m where m.account = a.address) m
  left join ${storedOf("hour")} h on h.account = a.address
  left join ${storedOf("day")} d on d.account = a.address
  where ${compared
    .flatMap((name) => [
      `coalesce(h.${name}, 0) not between r.${name} and r.${name} + m.${name}`,
      `coalesce(d.${name}, 0) <> coalesce(h.${name}, 0)`,
    ])
    .join("\n    or ")}`;

/**
 * The `from` clause for sums over requests, as rows `u` with a time `at`, a provider and a bin: as `summed`, of the
 * sums by provider. These sums cannot be filtered by anything else: a filter with another condition throws
 * `invalid_parameter`.
 */
function providerRows(where: Parameters, filter: UsageFilter, grains: readonly Grain[]): string {
  checkFilter(filter);
  const { from, before } = filter;
  const requests = (range: TimeRange, position: string) =>
    `select r.created_at as at, ${REQUEST_COLUMNS} from inference_request r
     where ${[IS_USAGE, ...usageConditions(where, {}, "requests", range), position].join(" and ")}`;
  const partOf = ({ grain, ...range }: Part) => {
    if (!grain) return requests(range, `r.usage_number <= ${ROLLED_UP_TO}`);
    const conditions = [`r.grain = '${grain}'`, ...usageConditions(where, {}, "sums", range)];
    return `select r.starts_at as at, r.provider, r.bin, r.cache_saving, ${SUMMED.map((name) => `r.${name}`).join(", ")}
     from usage_provider_rollup r where ${conditions.join(" and ")}`;
  };
  const parts = divideRange({ from, before }, grains);
  const pending = requests({ from, before }, `r.usage_number > ${ROLLED_UP_TO}`);
  return `(${[...parts.map(partOf), pending].join("\nunion all\n")}) as u`;
}

function checkFilter({ from: _, before: __, ...others }: UsageFilter): void {
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const what = "cannot be combined with the sums by provider, which have a range of time only";
    throw new AppError("invalid_parameter", `${name}: ${what}`, { param: name });
  }
}

const SUMMED = ["requests", ...USAGE_SUMS] as const;

/** SQL: what a recorded request saved by its provider's cache, as `recordedSaving` computes it; 0 where that is null. */
const SAVING = `case
    when r.cached_tokens + r.cache_write_tokens + r.cache_write_1h_tokens > 0
      and r.routing->>'cachedFrom' is null
      and coalesce(r.output_cost, 0) >= coalesce(r.output_tokens, 0) * r.output_price
      and coalesce(r.input_cost, 0) >= coalesce((r.routing->>'inputCost')::numeric, 0)
    then greatest(0, coalesce(r.input_tokens, 0) * r.input_price - coalesce(r.input_cost, 0)) else 0 end`;

const REQUEST_COLUMNS = `r.provider,
  case when r.first_byte_ms is null then ${NO_BIN} else ${latencyBinSql("r.first_byte_ms")} end as bin,
  ${SAVING} as cache_saving, 1 as requests, r.total_cost as cost,
  ${TOKENS.map((name) => `coalesce(r.${name}, 0) as ${name}`).join(", ")}`;

const ROLLED_UP_TO =
  "(select coalesce(max(p.usage_number), 0) from usage_provider_rolled p where p.account = $1::text)";

const BEGIN = `
  insert into usage_provider_rolled (account, usage_number) values ($1, 0) on conflict (account) do nothing`;

/**
 * Requests are taken in the order of their numbers, as for `usage_rollup`. When none is left, the position is the
 * account's last number, also where requests were removed. The statement may see an older number than the position that
 * it has locked, which another process has moved meanwhile.
 */
const ROLL_UP = `
  with rolled as (
    select usage_number from usage_provider_rolled where account = $1 for update skip locked
  ), batch as materialized (
    select r.usage_number, r.created_at, ${REQUEST_COLUMNS}
    from rolled join inference_request r on r.usage_number > rolled.usage_number
    where r.account = $1 and r.usage_number is not null order by r.usage_number limit $2::integer
  ), added as (
    insert into usage_provider_rollup as u (account, grain, starts_at, provider, bin, cache_saving, ${SUMMED.join(", ")})
    select $1, grain, date_trunc(grain, created_at, 'UTC'), provider, bin, sum(cache_saving),
      ${SUMMED.map((name) => `coalesce(sum(${name}), 0)`).join(", ")}
    from batch cross join (values ('hour'), ('day')) as g(grain) group by grain, 3, provider, bin
    on conflict (account, grain, starts_at, provider, bin) do update set
      cache_saving = u.cache_saving + excluded.cache_saving,
      ${SUMMED.map((name) => `${name} = u.${name} + excluded.${name}`).join(", ")}
  ), counted as (
    select count(*) as added, max(usage_number) as last from batch
  ), moved as (
    update usage_provider_rolled p set usage_number = greatest(p.usage_number, case
        when c.added >= $2::integer then c.last
        else (select a.usage_count from account a where a.address = $1) end)
    from counted c where p.account = $1 and exists (select from rolled)
  )
  select added::text as added from counted`;
