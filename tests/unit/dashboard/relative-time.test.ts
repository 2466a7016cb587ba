import { expect, test } from "vitest";
import { relativeTime } from "../../../gateway/dashboard/app/parts/value/relative-time.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test("a time is said by its distance, never by a day, month or year of the calendar in which it may not be", () => {
  const now = Date.parse("2026-12-30T20:00:00Z");
  for (const [ms, text] of [
    [0, "just now"],
    [-45_000, "45s ago"],
    [47 * HOUR_MS, "in 1d"],
    [-47 * HOUR_MS, "1d ago"],
    [59 * DAY_MS, "in 1mo"],
    [-59 * DAY_MS, "1mo ago"],
    [700 * DAY_MS, "in 1y"],
    [-700 * DAY_MS, "1y ago"],
  ] as const)
    expect(relativeTime(now + ms, now), text).toBe(text);
});
