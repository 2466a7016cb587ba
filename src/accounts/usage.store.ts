import type { AccountReads } from "../db/account-reads.ts";

export type TrustMode = "standard" | "verified" | "private";
/** How a request was paid: through an `sk-` key, or by the wallet itself. */
export type UsageSource = "api_key" | "wallet";

/** Filters the requests of an account. `from` is inclusive, `before` is exclusive. */
export type UsageFilter = {
  readonly apiKeyId?: string | undefined;
  readonly source?: UsageSource | undefined;
  readonly from?: Date | undefined;
  readonly before?: Date | undefined;
  readonly trustMode?: TrustMode | undefined;
  readonly modelId?: string | undefined;
};

/** Totals over requests. The cost is in neuron. */
export type UsageTotals = {
  readonly requests: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly cacheWrite1hTokens: bigint;
  readonly cost: bigint;
};

/** The usage of a model on one UTC day, `date` as YYYY-MM-DD. `trustMode` is null unless days are grouped by it. */
export type UsageDay = UsageTotals & {
  readonly date: string;
  readonly model: string;
  readonly trustMode: TrustMode | null;
};

/** One request that counts as usage. `id` numbers those of its account from 1, in the order of payment; amounts are neuron. */
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

/** A read of usage: the connection, the account, the filter, and a signal that cancels it. */
export type UsageRead = {
  readonly reads: AccountReads;
  readonly account: string;
  readonly filter: UsageFilter;
  readonly signal?: AbortSignal | undefined;
};

/** Totals over every request that matches `filter`. */
export async function sumUsage(read: UsageRead): Promise<UsageTotals> {
  const { text, values } = used(read);
  const [row] = await run<TotalsRow>(read, `select ${SUMS} from ${text}`, values);
  if (!row) throw new Error("sums have one row");
  return toTotals(row);
}

/** Totals by day and model, newest day first; with `byTrustMode`, also by trust mode. */
export async function sumUsageByDay(read: UsageRead, byTrustMode: boolean): Promise<readonly UsageDay[]> {
  type Row = TotalsRow & { date: string; model: string; trust_mode: TrustMode | null };
  const { text, values } = used(read);
  const trustMode = byTrustMode ? "r.trust_mode" : "null::text";
  const rows = await run<Row>(
    read,
    `select to_char(by_day.day, 'YYYY-MM-DD') as date, by_day.* from (
       select (r.created_at at time zone 'UTC')::date as day, r.model, ${trustMode} as trust_mode, ${SUMS}
       from ${text} group by 1, 2, 3
     ) as by_day order by by_day.day desc, by_day.model, by_day.trust_mode`,
    values,
  );
  return rows.map((row) => ({
    ...toTotals(row),
    date: row.date,
    model: row.model,
    trustMode: row.trust_mode,
  }));
}

/** At most `limit` requests, newest first: those with a smaller number than `before`, without the first `skip`. */
export async function listUsage(
  read: UsageRead,
  page: { readonly before: bigint | undefined; readonly skip: number; readonly limit: number },
): Promise<readonly UsageRow[]> {
  const { text, values } = used(read, page.before);
  const limit = values.push(page.limit);
  const skip = values.push(page.skip);
  // The index alone selects the rows of the page, however many are filtered out or skipped before it.
  const rows = await run<HistoryRow>(
    read,
    `select r.* from (
       select r.usage_number from ${text} order by r.usage_number desc limit $${limit}::integer offset $${skip}::integer
     ) as page
     cross join lateral (
       select ${HISTORY_COLUMNS} from inference_request r
       where r.account = $1::text and r.usage_number = page.usage_number and r.usage_number is not null limit 1
     ) as r
     order by page.usage_number desc`,
    values,
  );
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

function run<Row>({ reads, account, signal }: UsageRead, text: string, values: readonly unknown[]) {
  return reads.rows<Row>(account, { text, values }, signal);
}

/**
 * The `from` clause for the requests that match a filter. Each shape of filter is a separate statement, built from
 * constants, so that the planner sees only the conditions that apply; the account is always `$1`.
 */
function used({ account, filter }: UsageRead, before?: bigint): { text: string; values: unknown[] } {
  const values: unknown[] = [account];
  const conditions = ["r.account = $1::text", "r.usage_number is not null"];
  const add = (value: string | undefined, condition: (parameter: string) => string) => {
    if (value !== undefined) conditions.push(condition(`$${values.push(value)}`));
  };
  add(filter.apiKeyId, (parameter) => `r.api_key_id = ${parameter}::uuid`);
  add(filter.from?.toISOString(), (parameter) => `r.created_at >= ${parameter}::timestamptz`);
  add(filter.before?.toISOString(), (parameter) => `r.created_at < ${parameter}::timestamptz`);
  add(filter.trustMode, (parameter) => `r.trust_mode = ${parameter}::text`);
  add(filter.modelId, (parameter) => `r.model = ${parameter}::text`);
  add(before?.toString(), (parameter) => `r.usage_number < ${parameter}::bigint`);
  if (filter.source) conditions.push(PAID_BY[filter.source]);
  return { text: `inference_request r where ${conditions.join(" and ")}`, values };
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

const PAID_BY = { api_key: "r.api_key_id is not null", wallet: "r.api_key_id is null" } as const;

const SUMS = `count(*)::text as requests, coalesce(sum(r.total_cost), 0)::text as cost,
  ${TOKENS.map((name) => `coalesce(sum(r.${name}), 0)::text as ${name}`).join(", ")}`;

const HISTORY_COLUMNS = `
  r.usage_number::text as id, r.id as request_id, r.model, r.provider, r.api_key_id::text as api_key_id,
  floor(extract(epoch from r.created_at) * 1000)::bigint::text as created_ms, '1' as requests,
  ${TOKENS.map((name) => `coalesce(r.${name}, 0)::text as ${name}`).join(", ")},
  r.total_cost::text as cost, r.deposit_used::text as deposit_used, r.credit_used::text as credit_used,
  r.trust_mode`;
