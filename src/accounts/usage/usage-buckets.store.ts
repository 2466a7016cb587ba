import { runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import { AppError } from "../../kernel/errors.ts";
import { sumUsageByProvider } from "./provider-usage.store.ts";
import { divideRange, type Grain } from "./time-ranges.ts";
import {
  storedGrains,
  summed,
  TOTALS,
  type TotalsRow,
  type TrustMode,
  toTotals,
  type UsageRead,
  type UsageTotals,
} from "./usage.store.ts";

/** What buckets may be divided by, besides time. */
export type UsageGroup = "model" | "api_key" | "trust_mode" | "tag" | "provider";

/** Buckets: the UTC periods, and what each is divided by; `tagName` is the name of the tag. */
export type UsageDivision = {
  readonly grain: Grain;
  readonly groups: readonly UsageGroup[];
  readonly tagName?: string | undefined;
};

/** The usage of one period; what identifies its group is undefined unless the period is divided by it. */
export type UsageBucket = UsageTotals & {
  readonly startsAt: Date;
  readonly model: string | undefined;
  /** Null for what the wallet paid itself. */
  readonly apiKeyId: string | null | undefined;
  readonly trustMode: TrustMode | undefined;
  readonly tagValue: string | undefined;
  /** The address of the provider. */
  readonly provider?: string | undefined;
};

/** The most buckets of one answer. */
const MAX_BUCKETS = 5_000;

/** The stored sums of which a period consists, coarsest first. */
const SUMS: Readonly<Record<Grain, readonly Grain[]>> = {
  hour: ["hour"],
  day: ["day", "hour"],
  month: ["month", "day", "hour"],
};
const COLUMNS = {
  model: "u.model",
  api_key: "u.api_key_id::text",
  trust_mode: "u.trust_mode",
  tag: "u.value",
} as const;
const MEMBERS = { model: "model", api_key: "apiKeyId", trust_mode: "trustMode", tag: "tagValue" } as const;

/**
 * The usage by UTC periods, oldest first. Periods without usage have no bucket. When dividing by a tag, requests
 * without that tag are left out. Throws `invalid_parameter` if there are more than 5,000 buckets, if a tag is not named
 * exactly when dividing by one, and if a division by provider has another group, a tag or a filter other than a range
 * of time.
 */
export async function sumUsageByPeriod(
  read: UsageRead,
  { grain, groups, tagName }: UsageDivision,
): Promise<readonly UsageBucket[]> {
  if (groups.includes("provider")) return sumByProvider(read, { grain, groups, tagName });
  const { from, before, tag } = read.filter;
  const isByTag = groups.includes("tag");
  checkTagDivision({ isByTag, tagName, isFiltered: tag !== undefined });
  const where = new Parameters(read.account);
  const parts = divideRange({ from, before }, storedGrains(SUMS[grain], isByTag || tag !== undefined));
  const divided = groups.filter((group) => group !== "provider");
  const columns = divided.map((group) => COLUMNS[group]);
  const keys = [`date_trunc('${grain}', u.at, 'UTC')`, ...columns];
  const selected = keys.map((key, n) => `${key} as k${n}`).join(", ");
  const positions = keys.map((_, n) => n + 1).join(", ");
  type Row = TotalsRow & { at_ms: string } & Readonly<Record<`k${number}`, string | null>>;
  const text = `select floor(extract(epoch from b.k0) * 1000)::bigint::text as at_ms, b.* from (
      select ${selected}, ${TOTALS} from ${summed(where, read.filter, parts, isByTag ? { name: tagName } : undefined)}
      group by ${positions} order by ${positions} limit ${MAX_BUCKETS + 1}
    ) as b`;
  const rows = await runRead<Row>(read, { text, values: where.values });
  checkCount(rows.length);
  return rows.map((row) => {
    const members = Object.fromEntries(divided.map((group, n) => [MEMBERS[group], row[`k${n + 1}`]]));
    return {
      startsAt: new Date(Number(row.at_ms)),
      ...UNDIVIDED,
      ...members,
      ...toTotals(row),
    };
  });
}

const UNDIVIDED = { model: undefined, apiKeyId: undefined, trustMode: undefined, tagValue: undefined };

/** The sums by provider are divided by nothing else. */
async function sumByProvider(
  read: UsageRead,
  { grain, groups, tagName }: UsageDivision,
): Promise<readonly UsageBucket[]> {
  if (groups.length > 1)
    throw refuse("groupBy", "a division by provider cannot be combined with another one");
  if (tagName !== undefined)
    throw refuse("tagName", "is required when dividing by tag, and allowed only then");
  const buckets = await sumUsageByProvider(read, { grain, limit: MAX_BUCKETS + 1 });
  checkCount(buckets.length);
  return buckets.map((bucket) => ({ ...UNDIVIDED, ...bucket }));
}

function checkCount(buckets: number): void {
  if (buckets <= MAX_BUCKETS) return;
  const message = `There are more than ${MAX_BUCKETS} buckets. Choose longer periods, fewer groups or a shorter range.`;
  throw new AppError("invalid_parameter", message, { param: "by" });
}

function refuse(param: string, what: string): AppError {
  return new AppError("invalid_parameter", `${param}: ${what}`, { param });
}

function checkTagDivision(division: {
  isByTag: boolean;
  tagName: string | undefined;
  isFiltered: boolean;
}): void {
  const { isByTag, tagName, isFiltered } = division;
  if (isByTag !== (tagName !== undefined))
    throw refuse("tagName", "is required when dividing by tag, and allowed only then");
  if (isByTag && isFiltered) throw refuse("tag", "cannot be combined with a division by a tag");
}
