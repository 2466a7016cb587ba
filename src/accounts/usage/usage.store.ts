import { type AccountRead, runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import type { Tag, Tags } from "../tags/tags.ts";
import { divideRange, type Grain, type Part } from "./time-ranges.ts";

export type TrustMode = "standard" | "verified" | "private";
/** How a request was paid: through an `sk-` key, or by the wallet itself. */
export type UsageSource = "api_key" | "wallet";

/** Filters the requests of an account. `from` is inclusive, `before` is exclusive. */
export type UsageFilter = {
  readonly apiKeyId?: string | undefined;
  /** Any of these keys. */
  readonly apiKeyIds?: readonly string[] | undefined;
  readonly source?: UsageSource | undefined;
  readonly from?: Date | undefined;
  readonly before?: Date | undefined;
  readonly trustMode?: TrustMode | undefined;
  readonly modelId?: string | undefined;
  readonly tag?: Tag | undefined;
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
  /** See `recordedSaving`; null for a stored answer. */
  readonly cacheSaving: bigint | null;
  readonly depositUsed: bigint;
  readonly creditUsed: bigint;
  readonly trustMode: TrustMode;
  /** The request whose stored answer was returned; null if a provider answered. */
  readonly cachedFrom: string | null;
  readonly tags: Tags;
};

/** A read of the usage of an account. */
export type UsageRead = AccountRead<UsageFilter>;

/** Totals over every request that matches `filter`. */
export async function sumUsage(read: UsageRead): Promise<UsageTotals> {
  const where = new Parameters(read.account);
  const { from, before, tag } = read.filter;
  const parts = divideRange({ from, before }, storedGrains(["month", "day", "hour"], tag !== undefined));
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

/** The grains of the stored sums, coarsest first; those by tag have no months. */
export function storedGrains(grains: readonly Grain[], isByTag: boolean): readonly Grain[] {
  return isByTag ? grains.filter((grain) => grain !== "month") : grains;
}

/** Divides requests by their tags: by those with this name, or by all, which counts a request once for each. */
export type ByTag = { readonly name: string | undefined };

/**
 * The `from` clause for sums over the requests that match a filter, as rows `u` with a time `at`: the stored sums of the
 * whole periods among `parts`, the single requests at the ends of the range, and those that are not in the stored sums
 * yet. With `byTag`, each row has the `name` and the `value` of a tag; requests without one are left out.
 */
export function summed(
  where: Parameters,
  filter: UsageFilter,
  parts: readonly Part[],
  byTag?: ByTag,
): string {
  const [ofTag, eachTag] = byTag
    ? [", t.name, t.value", " cross join lateral jsonb_each_text(r.tags) as t(name, value)"]
    : ["", ""];
  const nameOf = (row: string) =>
    byTag ? where.when(byTag.name, (parameter) => `${row}.name = ${parameter}::text`) : [];
  const requests = (conditions: readonly string[]) =>
    `select r.created_at as at, r.model, r.trust_mode, r.api_key_id, 1 as requests, r.total_cost as cost,
       ${TOKENS.map((name) => `r.${name}`).join(", ")}${ofTag}
     from inference_request r${eachTag} where ${[IS_USAGE, ...conditions, ...nameOf("t")].join(" and ")}`;
  const sumsTable = byTag ? "usage_tag_rollup" : sumsOf(filter);
  const partOf = ({ grain, ...range }: Part) => {
    if (!grain)
      return requests([
        ...usageConditions(where, filter, "requests", range),
        `r.usage_number <= ${ROLLED_UP_TO}`,
      ]);
    const conditions = [
      `r.grain = '${grain}'`,
      ...usageConditions(where, filter, "sums", range),
      ...nameOf("r"),
    ];
    return `select r.starts_at as at, r.model, r.trust_mode, r.api_key_id, r.requests, r.cost,
       ${TOKENS.map((name) => `r.${name}`).join(", ")}${byTag ? ", r.name, r.value" : ""}
     from ${sumsTable} r where ${conditions.join(" and ")}`;
  };
  const pending = requests([
    ...usageConditions(where, filter, "requests", filter),
    `r.usage_number > ${ROLLED_UP_TO}`,
  ]);
  return `(${[...parts.map(partOf), pending].join("\nunion all\n")}) as u`;
}

/** SQL: the table of the stored sums that a filter applies to. */
export function sumsOf({ tag }: UsageFilter): string {
  return tag ? "usage_tag_rollup" : "usage_rollup";
}

/**
 * SQL: the conditions of a filter on the rows `r` of requests, or of the stored sums of `sumsOf`, whose times are in the
 * range. The account is `$1`.
 */
export function usageConditions(
  where: Parameters,
  filter: UsageFilter,
  rows: "requests" | "sums",
  { from, before }: Pick<UsageFilter, "from" | "before">,
): readonly string[] {
  const at = rows === "sums" ? "r.starts_at" : "r.created_at";
  return [
    "r.account = $1::text",
    ...where.when(filter.apiKeyId, (parameter) => `r.api_key_id = ${parameter}::uuid`),
    ...where.when(filter.apiKeyIds, (parameter) => `r.api_key_id = any(${parameter}::uuid[])`),
    ...where.when(from?.toISOString(), (parameter) => `${at} >= ${parameter}::timestamptz`),
    ...where.when(before?.toISOString(), (parameter) => `${at} < ${parameter}::timestamptz`),
    ...where.when(filter.trustMode, (parameter) => `r.trust_mode = ${parameter}::text`),
    ...where.when(filter.modelId, (parameter) => `r.model = ${parameter}::text`),
    ...(filter.source ? [PAID_BY[filter.source]] : []),
    ...(filter.tag ? [hasTag(where, filter.tag, rows)] : []),
  ];
}

function hasTag(where: Parameters, { name, value }: Tag, rows: "requests" | "sums"): string {
  const [named, valued] = [`${where.add(name)}::text`, `${where.add(value)}::text`];
  return rows === "sums" ? `r.name = ${named} and r.value = ${valued}` : `r.tags ->> ${named} = ${valued}`;
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
