import type { AccountReads } from "../../db/account-reads.ts";
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
  const where = new Conditions(read.account);
  const parts = divideRange({ from: read.filter.from, before: read.filter.before }, ["month", "day", "hour"]);
  const [row] = await run<TotalsRow>(
    read,
    `select ${TOTALS} from ${summed(where, read.filter, parts)}`,
    where.values,
  );
  if (!row) throw new Error("sums have one row");
  return toTotals(row);
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

/** Runs a statement of a read. */
export function run<Row>({ reads, account, signal }: UsageRead, text: string, values: readonly unknown[]) {
  return reads.rows<Row>(account, { text, values }, signal);
}

/**
 * The `from` clause for sums over the requests that match a filter, as rows `u` with a time `at`: the stored sums of the
 * whole periods among `parts`, the single requests at the ends of the range, and those that are not in the stored sums
 * yet.
 */
export function summed(where: Conditions, filter: UsageFilter, parts: readonly Part[]): string {
  const requests = (conditions: readonly string[]) =>
    `select r.created_at as at, r.model, r.trust_mode, r.api_key_id, 1 as requests, r.total_cost as cost,
       ${TOKENS.map((name) => `r.${name}`).join(", ")}
     from inference_request r where ${IS_USAGE} and ${conditions.join(" and ")}`;
  const partOf = ({ grain, ...range }: Part) => {
    if (!grain)
      return requests([...where.all(filter, "r.created_at", range), `r.usage_number <= ${ROLLED_UP_TO}`]);
    const conditions = [`r.grain = '${grain}'`, ...where.all(filter, "r.starts_at", range)];
    return `select r.starts_at as at, r.model, r.trust_mode, r.api_key_id, r.requests, r.cost,
       ${TOKENS.map((name) => `r.${name}`).join(", ")}
     from usage_rollup r where ${conditions.join(" and ")}`;
  };
  const pending = requests([
    ...where.all(filter, "r.created_at", filter),
    `r.usage_number > ${ROLLED_UP_TO}`,
  ]);
  return `(${[...parts.map(partOf), pending].join("\nunion all\n")}) as u`;
}

/** The conditions of a statement and their values; the account is `$1`. */
export class Conditions {
  readonly values: unknown[];

  constructor(account: string) {
    this.values = [account];
  }

  add(value: string | undefined, condition: (parameter: string) => void): void {
    if (value !== undefined) condition(`$${this.values.push(value)}`);
  }

  /** The parameter that stands for a value. */
  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  /** Those of a filter for the rows `r`, whose times in the column `at` are in the range. */
  all(filter: UsageFilter, at: string, { from, before }: Pick<UsageFilter, "from" | "before">): string[] {
    const conditions = ["r.account = $1::text"];
    this.add(filter.apiKeyId, (parameter) => conditions.push(`r.api_key_id = ${parameter}::uuid`));
    this.add(from?.toISOString(), (parameter) => conditions.push(`${at} >= ${parameter}::timestamptz`));
    this.add(before?.toISOString(), (parameter) => conditions.push(`${at} < ${parameter}::timestamptz`));
    this.add(filter.trustMode, (parameter) => conditions.push(`r.trust_mode = ${parameter}::text`));
    this.add(filter.modelId, (parameter) => conditions.push(`r.model = ${parameter}::text`));
    if (filter.source) conditions.push(PAID_BY[filter.source]);
    return conditions;
  }
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
