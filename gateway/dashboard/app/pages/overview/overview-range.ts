import * as z from "zod/mini";
import { parameter } from "../../data/list/list-search.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The longest range of one's own, in days. */
export const MAX_DAYS = 366;

const day = z.string().check(z.regex(/^\d{4}-\d\d-\d\d$/));

/** What the overview shows: the range, with its days if it is one's own, and what spending is divided by. */
export const overviewSearch = z.object({
  range: parameter(z.enum(["24h", "7d", "30d", "custom"])),
  from: parameter(day),
  to: parameter(day),
  by: parameter(z.enum(["model", "key", "provider"])),
});

export type OverviewSearch = z.infer<typeof overviewSearch>;

/** A range of whole periods in UTC: `before` is exclusive. */
export type Range = {
  readonly from: Date;
  readonly before: Date;
  readonly period: "HOUR" | "DAY";
  /** With its preposition: `in the last 7 days`. */
  readonly text: string;
};

/** The range of a page's search. Days of one's own are in UTC; an invalid, empty or too long range is cut. */
export function rangeOf({ range = "7d", from, to }: OverviewSearch, now: number): Range {
  const endOfDay = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  if (range === "24h") {
    const before = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
    return span(before - DAY_MS, before, "in the last 24 hours");
  }
  if (range !== "custom") {
    const days = range === "30d" ? 30 : 7;
    return span(endOfDay - days * DAY_MS, endOfDay, `in the last ${days} days`);
  }
  const last = Math.min(parse(to) ?? now, now);
  const first = Math.min(parse(from) ?? last - 6 * DAY_MS, last);
  const before = (Math.floor(last / DAY_MS) + 1) * DAY_MS;
  const start = Math.max(Math.floor(first / DAY_MS) * DAY_MS, before - MAX_DAYS * DAY_MS);
  return span(start, before, `from ${dateOf(start)} to ${dateOf(last)}`);
}

/** The starts of the periods of a range, milliseconds. */
export function startsOf({ from, before, period }: Range): readonly number[] {
  const length = period === "HOUR" ? HOUR_MS : DAY_MS;
  const count = Math.round((before.getTime() - from.getTime()) / length);
  return Array.from({ length: count }, (_, n) => from.getTime() + n * length);
}

/** The days for which a balance lasts at the rate of the usage since its first day; undefined without spending. */
export function runwayDays(
  available: string,
  days: readonly { readonly startsAt: string; readonly stats: { readonly cost: string } }[],
  now: number,
): number | undefined {
  const spent = days.reduce((sum, { stats }) => sum + BigInt(stats.cost), 0n);
  const [first] = days;
  if (!first || spent <= 0n) return undefined;
  const overMs = Math.max(DAY_MS, now - Date.parse(first.startsAt));
  return (Number(BigInt(available)) / Number(spent)) * (overMs / DAY_MS);
}

/** A date in UTC, as `YYYY-MM-DD`. */
export function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function parse(date: string | undefined): number | undefined {
  const at = date === undefined ? Number.NaN : Date.parse(`${date}T00:00:00Z`);
  return Number.isFinite(at) && at >= 0 ? at : undefined;
}

function span(from: number, before: number, text: string): Range {
  const period = before - from <= 2 * DAY_MS ? "HOUR" : "DAY";
  return { from: new Date(from), before: new Date(before), period, text };
}
