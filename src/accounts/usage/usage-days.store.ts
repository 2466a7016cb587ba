import { runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import { divideRange, type Part } from "./time-ranges.ts";
import {
  summed,
  type TrustMode,
  USAGE_SUMS,
  type UsageDay,
  type UsageFilter,
  type UsageRead,
  type UsageTotals,
  usageConditions,
} from "./usage.store.ts";

/**
 * Totals by day and model, newest day first; with `byTrustMode`, also by trust mode. Whole days are read as they are
 * stored, one row each, and added up here with the rest, which takes the database several times as long.
 */
export async function sumUsageByDay(read: UsageRead, byTrustMode: boolean): Promise<readonly UsageDay[]> {
  const { filter } = read;
  const where = new Parameters(read.account);
  const parts = divideRange({ from: filter.from, before: filter.before }, ["day", "hour"]);
  // Only the sums of hours and of keys are divided by key, and only those of tags by tag.
  const isStored = ({ grain }: Part) => grain === "day" && !filter.apiKeyId && !filter.source && !filter.tag;
  const stored = parts.filter(isStored).map((range) => storedDays(where, range));
  const others = parts.filter((part) => !isStored(part));
  const text = [...stored, summedDays(where, filter, others)].join("\nunion all\n");
  const rows = await runRead<DayRow>(read, { text, values: where.values });
  const dates = new Map<string, Entry[]>();
  for (const { date, usage } of rows) dates.set(date, [...(dates.get(date) ?? []), ...usage]);
  return [...dates]
    .toSorted(([one], [other]) => compare(other, one))
    .flatMap(([date, entries]) => toUsageDays(date, entries, { filter, byTrustMode }));
}

/** The sums of a model and trust mode: as text, in the order of `SUMMED`. */
type Entry = readonly [model: string, trustMode: TrustMode, ...sums: readonly string[]];
type DayRow = { readonly date: string; readonly usage: readonly Entry[] };

/** SQL for the stored days of a range. */
function storedDays(where: Parameters, range: Part): string {
  const conditions = usageConditions(where, {}, "sums", range).join(" and ");
  return `select to_char(r.starts_at at time zone 'UTC', 'YYYY-MM-DD') as date, r.usage from usage_day r where ${conditions}`;
}

/** SQL for the days of the other parts of a range, and of requests that are not in the stored sums yet. */
function summedDays(where: Parameters, filter: UsageFilter, parts: readonly Part[]): string {
  return `select to_char(d.day, 'YYYY-MM-DD') as date,
      json_agg(json_build_array(d.model, d.trust_mode, ${SUMMED.map((name) => `d.${name}`).join(", ")})) as usage
    from (
      select (u.at at time zone 'UTC')::date as day, u.model, u.trust_mode,
        ${SUMMED.map((name) => `coalesce(sum(u.${name}), 0)::text as ${name}`).join(", ")}
      from ${summed(where, filter, parts)} group by 1, 2, 3
    ) as d group by d.day`;
}

/** The entries of one day that match the filter, those of the same group added up, in the order of their groups. */
function toUsageDays(
  date: string,
  entries: readonly Entry[],
  { filter, byTrustMode }: { readonly filter: UsageFilter; readonly byTrustMode: boolean },
): readonly UsageDay[] {
  const groups = new Map<string, UsageDay>();
  for (const [model, mode, ...sums] of entries) {
    if (filter.modelId !== undefined && model !== filter.modelId) continue;
    if (filter.trustMode !== undefined && mode !== filter.trustMode) continue;
    const trustMode = byTrustMode ? mode : null;
    // A trust mode has no space.
    const key = `${trustMode} ${model}`;
    const totals = toDayTotals(sums);
    const earlier = groups.get(key);
    groups.set(key, { date, model, trustMode, ...(earlier ? plus(earlier, totals) : totals) });
  }
  return [...groups.values()].toSorted(
    (one, other) => compare(one.model, other.model) || compare(one.trustMode ?? "", other.trustMode ?? ""),
  );
}

function toDayTotals(sums: readonly string[]): UsageTotals {
  const [requests = "", cost = "", input = "", output = "", cached = "", written = "", written1h = ""] = sums;
  return {
    requests: BigInt(requests),
    inputTokens: BigInt(input),
    outputTokens: BigInt(output),
    cachedTokens: BigInt(cached),
    cacheWriteTokens: BigInt(written),
    cacheWrite1hTokens: BigInt(written1h),
    cost: BigInt(cost),
  };
}

function plus(one: UsageTotals, other: UsageTotals): UsageTotals {
  return {
    requests: one.requests + other.requests,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + other.cacheWrite1hTokens,
    cost: one.cost + other.cost,
  };
}

/** By code units, whatever the locale of the database is. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

const SUMMED = ["requests", ...USAGE_SUMS] as const;
