import type { Statement } from "./account-reads.ts";
import type { Queries } from "./database.ts";

/** How many rows a list has; an estimate if `isExact` is false. */
export type RowCount = { readonly rows: number; readonly isExact: boolean };

/** Rows are counted up to this number; for a longer list the planner's estimate is given. */
const MAX_COUNTED = 10_000;

/**
 * How many rows a statement selects, which has neither an order nor a limit. Reads at most 10,001 rows in `order`, that of
 * its list, which an index serves: in no order, the planner reads the table from its start, or all of several indexes.
 * A statement that has an order inside needs no other.
 * Where no index has the condition (`isCostly`), rows are counted only if the planner expects at most 10,000.
 */
export async function countRows(
  queries: Queries,
  { text, values }: Statement,
  order: string | undefined,
  { isCostly = false } = {},
): Promise<RowCount> {
  const estimated = isCostly ? await estimate(queries, { text, values }) : 0;
  if (estimated > MAX_COUNTED) return { rows: estimated, isExact: false };
  const read = `${text} ${order === undefined ? "" : `order by ${order}`} limit ${MAX_COUNTED + 1}`;
  const counted = `select count(*)::int as rows from (${read}) as counted`;
  const [row] = await queries.rows<{ rows: number }>(counted, values);
  const rows = row?.rows ?? 0;
  if (rows <= MAX_COUNTED) return { rows, isExact: true };
  return { rows: Math.max(rows, await estimate(queries, { text, values })), isExact: false };
}

/** How many rows the planner expects. */
async function estimate(queries: Queries, { text, values }: Statement): Promise<number> {
  const [row] = await queries.rows<{ "QUERY PLAN": unknown }>(`explain (format json) ${text}`, values);
  const plan = row?.["QUERY PLAN"];
  const parsed: unknown = typeof plan === "string" ? JSON.parse(plan) : plan;
  const [first] = Array.isArray(parsed) ? (parsed as { readonly Plan?: { "Plan Rows"?: number } }[]) : [];
  return first?.Plan?.["Plan Rows"] ?? 0;
}
