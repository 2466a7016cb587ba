import { runRead } from "../../db/account-queries.ts";
import { Parameters } from "../../db/parameters.ts";
import type { Tag } from "../tags/tags.ts";
import { divideRange } from "./time-ranges.ts";
import {
  storedGrains,
  summed,
  TOTALS,
  type TotalsRow,
  toTotals,
  type UsageRead,
  type UsageTotals,
} from "./usage.store.ts";

/** The usage of the requests with a tag. */
export type TagUsage = Tag & UsageTotals;

/**
 * The usage by tag, the most expensive first, at most `limit`: of the tags with this name, or of all. A request counts
 * for each of its tags.
 */
export async function sumUsageByTag(
  read: UsageRead,
  { name, limit }: { readonly name: string | undefined; readonly limit: number },
): Promise<readonly TagUsage[]> {
  const { from, before } = read.filter;
  const where = new Parameters(read.account);
  const parts = divideRange({ from, before }, storedGrains(["day", "hour"], true));
  const text = `select u.name, u.value, ${TOTALS} from ${summed(where, read.filter, parts, { name })}
    group by u.name, u.value
    order by sum(u.cost) desc, u.name collate "C", u.value collate "C" limit ${where.add(limit)}::integer`;
  const rows = await runRead<TotalsRow & Tag>(read, { text, values: where.values });
  return rows.map((row) => ({ name: row.name, value: row.value, ...toTotals(row) }));
}
