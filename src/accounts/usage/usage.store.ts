import { type AccountRead, runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import { divideRange, type Part } from "./time-ranges.ts";

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
  /** What the provider's cache saved; null if the balance did not cover the whole cost. */
  readonly cacheSaving: bigint | null;
  readonly depositUsed: bigint;
  readonly creditUsed: bigint;
  readonly trustMode: TrustMode;
  /** The request whose stored answer was returned; null if a provider answered. */
  readonly cachedFrom: string | null;
};

/** A read of the usage of an account. */
export type UsageRead = AccountRead<UsageFilter>;

/** Totals over every request that matches `filter`. */
export async function sumUsage(read: UsageRead): Promise<UsageTotals> {
  const where = new Parameters(read.account);
  const parts = divideRange({ from: read.filter.from, before: read.filter.before }, ["month", "day", "hour"]);
  const text = `select ${TOTALS} from ${summed(where, read.filter, parts)}`;
  const [row] = await runRead<TotalsRow>(read, { text, values: where.values });
  if (!row) throw new Error("sums have one row");
  return toTotals(row);
}

/** The balance of an account, including what is held, and what its requests were charged, of one moment. Neuron. */
export async function sumCredits(
  read: Omit<UsageRead, "filter">,
): Promise<{ readonly balance: bigint; readonly used: bigint }> {
  const where = new Parameters(read.account);
  const parts = divideRange({ from: undefined, before: undefined }, ["month", "day", "hour"]);
  const text = `select coalesce(sum(u.cost), 0)::text as used, coalesce((
      select deposit + credit + held from account where address = $1::text), 0)::text as balance
    from ${summed(where, {}, parts)}`;
  const [row] = await runRead<{ balance: string; used: string }>(read, { text, values: where.values });
  if (!row) throw new Error("sums have one row");
  return { balance: BigInt(row.balance), used: BigInt(row.used) };
}

/** The sums, or the amounts of one request, as text. */
export type TotalsRow = Record<
  | "requests"
  | "input_tokens"
  | "output_tokens"
  | "cached_tokens"
  | "cache_write_tokens"
  | "cache_write_1h_tokens"
  | "cost",
  string
>;

/**
 * The `from` clause for sums over the requests that match a filter, as rows `u` with a time `at`: the stored sums of the
 * whole periods among `parts`, the single requests at the ends of the range, and those that are not in the stored sums
 * yet.
 */
export function summed(where: Parameters, filter: UsageFilter, parts: readonly Part[]): string {
  const requests = (conditions: readonly string[]) =>
    `select r.created_at as at, r.model, r.trust_mode, r.api_key_id, 1 as requests, r.total_cost as cost,
       ${TOKENS.map((name) => `r.${name}`).join(", ")}
     from inference_request r where ${IS_USAGE} and ${conditions.join(" and ")}`;
  const partOf = ({ grain, ...range }: Part) => {
    if (!grain)
      return requests([
        ...usageConditions(where, filter, "r.created_at", range),
        `r.usage_number <= ${ROLLED_UP_TO}`,
      ]);
    const conditions = [`r.grain = '${grain}'`, ...usageConditions(where, filter, "r.starts_at", range)];
    return `select r.starts_at as at, r.model, r.trust_mode, r.api_key_id, r.requests, r.cost,
       ${TOKENS.map((name) => `r.${name}`).join(", ")}
     from usage_rollup r where ${conditions.join(" and ")}`;
  };
  const pending = requests([
    ...usageConditions(where, filter, "r.created_at", filter),
    `r.usage_number > ${ROLLED_UP_TO}`,
  ]);
  return `(${[...parts.map(partOf), pending].join("\nunion all\n")}) as u`;
}

/** SQL: the conditions of a filter on the rows `r`, whose times in the column `at` are in the range. The account is `$1`. */
export function usageConditions(
  where: Parameters,
  filter: UsageFilter,
  at: string,
  { from, before }: Pick<UsageFilter, "from" | "before">,
): readonly string[] {
  return [
    "r.account = $1::text",
    ...where.when(filter.apiKeyId, (parameter) => `r.api_key_id = ${parameter}::uuid`),
    ...where.when(from?.toISOString(), (parameter) => `${at} >= ${parameter}::timestamptz`),
    ...where.when(before?.toISOString(), (parameter) => `${at} < ${parameter}::timestamptz`),
    ...where.when(filter.trustMode, (parameter) => `r.trust_mode = ${parameter}::text`),
    ...where.when(filter.modelId, (parameter) => `r.model = ${parameter}::text`),
    ...(filter.source ? [PAID_BY[filter.source]] : []),
  ];
}

/** Sums as numbers. */
export function toTotals(row: TotalsRow): UsageTotals {
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

/** The columns of requests that are added up: tokens of each kind. */
export const TOKENS = [
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
] as const;

/** The amounts of a request that are added up: its cost in neuron, and its tokens of each kind. */
export const USAGE_SUMS = ["cost", ...TOKENS] as const;

const PAID_BY = { api_key: "r.api_key_id is not null", wallet: "r.api_key_id is null" } as const;

/** SQL: whether a request counts as usage. */
export const IS_USAGE = "r.usage_number is not null";

/** SQL: the usage number up to which the requests of the account `$1` are in the stored sums. */
export const ROLLED_UP_TO =
  "(select coalesce(max(p.usage_number), 0) from usage_rolled p where p.account = $1::text)";

const SUMMED = ["requests", ...USAGE_SUMS] as const;

/** SQL: the sums of the rows `u`, as text. */
export const TOTALS = SUMMED.map((name) => `coalesce(sum(u.${name}), 0)::text as ${name}`).join(", ");
