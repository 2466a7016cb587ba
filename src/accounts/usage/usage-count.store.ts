import { runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import { removedBefore } from "../retention/closed-months.store.ts";
import { divideRange } from "./time-ranges.ts";
import {
  IS_USAGE,
  storedGrains,
  summed,
  type UsageFilter,
  type UsageRead,
  usageConditions,
} from "./usage.store.ts";

/**
 * How many requests that match a filter are listed. The stored sums also count those of months that were removed, so
 * of the requests that began before the end of the last of these months, the rows that are left are counted.
 */
export async function countUsage(read: UsageRead): Promise<bigint> {
  const { account, filter } = read;
  const removed = await readRemovedBefore(read);
  const where = new Parameters(account);
  const from = removed && !(filter.from && filter.from > removed) ? removed : filter.from;
  const grains = storedGrains(["month", "day", "hour"], filter.tag !== undefined);
  const kept = summed(where, { ...filter, from }, divideRange({ from, before: filter.before }, grains));
  const text = `select (coalesce(sum(u.requests), 0)${removed ? ` + ${leftBefore(where, filter, removed)}` : ""})::text
      as requests
    from ${kept}`;
  const [row] = await runRead<{ requests: string }>(read, { text, values: where.values });
  return BigInt(row?.requests ?? 0);
}

/** SQL for the number of rows that match a filter and began before a time. */
function leftBefore(where: Parameters, filter: UsageFilter, time: Date): string {
  const conditions = [
    IS_USAGE,
    ...usageConditions(where, filter, "requests", filter),
    `r.created_at < ${where.add(time.toISOString())}::timestamptz`,
  ];
  return `(select count(*) from inference_request r where ${conditions.join(" and ")})`;
}

/** The end of the last month whose requests are removed or are being removed; undefined if there is none. */
async function readRemovedBefore(read: UsageRead): Promise<Date | undefined> {
  const text = `select floor(extract(epoch from nullif(${removedBefore("requests")}, '-infinity')) * 1000)::bigint::text as ms`;
  const [row] = await runRead<{ ms: string | null }>(read, { text, values: [] });
  return row?.ms == null ? undefined : new Date(Number(row.ms));
}
