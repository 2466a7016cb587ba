import type { Queries } from "../db/database.ts";

export type TrustMode = "standard" | "verified" | "private";
/** By what a request was paid: through an `sk-` key, or by the wallet itself. */
export type UsageSource = "api_key" | "wallet";

/** Which requests of an account count. `from` is included, `before` is not. */
export type UsageFilter = {
  readonly apiKeyId?: string | undefined;
  readonly source?: UsageSource | undefined;
  readonly from?: Date | undefined;
  readonly before?: Date | undefined;
  readonly trustMode?: TrustMode | undefined;
  readonly modelId?: string | undefined;
};

/** Sums over requests. Tokens are counts, the cost is neuron. */
export type UsageTotals = {
  readonly requests: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly cacheWrite1hTokens: bigint;
  readonly cost: bigint;
};

/** What a model was used on one day of UTC, `date` as YYYY-MM-DD. `trustMode` is null when days are not told apart by it. */
export type UsageDay = UsageTotals & {
  readonly date: string;
  readonly model: string;
  readonly trustMode: TrustMode | null;
};

/** One request that was used. `id` numbers them in the order in which they were paid for; amounts are neuron. */
export type UsageRow = {
  readonly id: bigint;
  readonly requestId: string;
  readonly createdAt: Date;
  readonly model: string;
  readonly provider: string;
  readonly apiKeyId: string | null;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly cacheWrite1hTokens: bigint;
  readonly cost: bigint;
  readonly depositUsed: bigint;
  readonly creditUsed: bigint;
  readonly trustMode: TrustMode;
};

/** Sums over everything that `filter` lets through. */
export async function sumUsage(queries: Queries, account: string, filter: UsageFilter): Promise<UsageTotals> {
  const [row] = await queries.rows<TotalsRow>(STATS, parametersOf(account, filter));
  if (!row) throw new Error("sums have one row");
  return toTotals(row);
}

/** Sums by day and model, newest day first; with `byTrustMode`, also by trust mode. */
export async function sumUsageByDay(
  queries: Queries,
  account: string,
  filter: UsageFilter,
  byTrustMode: boolean,
): Promise<readonly UsageDay[]> {
  type Row = TotalsRow & { date: string; model: string; trust_mode: TrustMode | null };
  const rows = await queries.rows<Row>(DAILY, [...parametersOf(account, filter), byTrustMode]);
  return rows.map((row) => ({
    ...toTotals(row),
    date: row.date,
    model: row.model,
    trustMode: row.trust_mode,
  }));
}

/** At most `limit` requests, newest first: those with a smaller number than `before`, without the first `skip`. */
export async function listUsage(
  queries: Queries,
  account: string,
  filter: UsageFilter,
  page: { readonly before: bigint | undefined; readonly skip: number; readonly limit: number },
): Promise<readonly UsageRow[]> {
  const place = [page.before?.toString() ?? null, page.limit, page.skip];
  const rows = await queries.rows<HistoryRow>(HISTORY, [...parametersOf(account, filter), ...place]);
  return rows.map(toUsageRow);
}

type TotalsRow = Record<
  | "requests"
  | "input_tokens"
  | "output_tokens"
  | "cached_tokens"
  | "cache_write_tokens"
  | "cache_write_1h_tokens"
  | "cost",
  string
>;

type HistoryRow = TotalsRow & {
  id: string;
  request_id: string;
  created_ms: string;
  model: string;
  provider: string;
  api_key_id: string | null;
  deposit_used: string;
  credit_used: string;
  trust_mode: TrustMode;
};

function parametersOf(account: string, filter: UsageFilter) {
  const { apiKeyId, source, from, before, trustMode, modelId } = filter;
  const times = [from?.toISOString() ?? null, before?.toISOString() ?? null];
  return [account, apiKeyId ?? null, source ?? null, ...times, trustMode ?? null, modelId ?? null];
}

function toTotals(row: TotalsRow): UsageTotals {
  return {
    requests: BigInt(row.requests),
    inputTokens: BigInt(row.input_tokens),
    outputTokens: BigInt(row.output_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    cacheWriteTokens: BigInt(row.cache_write_tokens),
    cacheWrite1hTokens: BigInt(row.cache_write_1h_tokens),
    cost: BigInt(row.cost),
  };
}

function toUsageRow(row: HistoryRow): UsageRow {
  return {
    id: BigInt(row.id),
    requestId: row.request_id,
    createdAt: new Date(Number(row.created_ms)),
    model: row.model,
    provider: row.provider,
    apiKeyId: row.api_key_id,
    inputTokens: BigInt(row.input_tokens),
    outputTokens: BigInt(row.output_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    cacheWriteTokens: BigInt(row.cache_write_tokens),
    cacheWrite1hTokens: BigInt(row.cache_write_1h_tokens),
    cost: BigInt(row.cost),
    depositUsed: BigInt(row.deposit_used),
    creditUsed: BigInt(row.credit_used),
    trustMode: row.trust_mode,
  };
}

const TOKENS = [
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
] as const;

const USED = `
  inference_request r where r.account = $1::text and r.usage_id is not null
    and ($2::uuid is null or r.api_key_id = $2::uuid)
    and ($3::text is null or ($3::text = 'api_key') = (r.api_key_id is not null))
    and ($4::timestamptz is null or r.created_at >= $4::timestamptz)
    and ($5::timestamptz is null or r.created_at < $5::timestamptz)
    and ($6::text is null or r.trust_mode = $6::text)
    and ($7::text is null or r.model = $7::text)`;

const SUMS = `count(*)::text as requests, coalesce(sum(r.total_cost), 0)::text as cost,
  ${TOKENS.map((name) => `coalesce(sum(r.${name}), 0)::text as ${name}`).join(", ")}`;

const STATS = `select ${SUMS} from ${USED}`;

const DAILY = `
  select to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD') as date, r.model,
    case when $8::boolean then r.trust_mode end as trust_mode, ${SUMS}
  from ${USED} group by 1, 2, 3 order by 1 desc, 2, 3`;

const HISTORY = `
  select r.usage_id::text as id, r.id as request_id, r.model, r.provider, r.api_key_id::text as api_key_id,
    floor(extract(epoch from r.created_at) * 1000)::bigint::text as created_ms, '1' as requests,
    ${TOKENS.map((name) => `coalesce(r.${name}, 0)::text as ${name}`).join(", ")},
    r.total_cost::text as cost, r.deposit_used::text as deposit_used, r.credit_used::text as credit_used,
    r.trust_mode
  from ${USED} and ($8::bigint is null or r.usage_id < $8::bigint)
  order by r.usage_id desc limit $9::integer offset $10::integer`;
