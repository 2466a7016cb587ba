import { expect, test } from "vitest";
import {
  dateOf,
  MAX_DAYS,
  overviewSearch,
  rangeOf,
  runwayDays,
  startsOf,
} from "../../../gateway/dashboard/app/pages/overview/overview-range.ts";
import { spendingOf, totalOf } from "../../../gateway/dashboard/app/pages/overview/spending.ts";
import { MAX_SERIES } from "../../../gateway/dashboard/app/parts/chart/series.ts";

const NOW = Date.parse("2026-11-26T04:20:31.5Z");

function bounds(search: Parameters<typeof rangeOf>[0]) {
  const { from, before, period } = rangeOf(search, NOW);
  return `${from.toISOString()} ${before.toISOString()} ${period}`;
}

test("a range is of whole hours or days that end with the present one, so that only stored sums are read", () => {
  expect(bounds({ range: "24h" })).toBe("2026-11-25T05:00:00.000Z 2026-11-26T05:00:00.000Z HOUR");
  expect(bounds({})).toBe("2026-11-20T00:00:00.000Z 2026-11-27T00:00:00.000Z DAY");
  expect(bounds({ range: "30d" })).toBe("2026-10-28T00:00:00.000Z 2026-11-27T00:00:00.000Z DAY");
  expect(bounds({ range: "custom", from: "2026-11-01", to: "2026-11-03" })).toBe(
    "2026-11-01T00:00:00.000Z 2026-11-04T00:00:00.000Z DAY",
  );
  expect(bounds({ range: "custom", from: "2026-11-24", to: "2026-11-24" })).toBe(
    "2026-11-24T00:00:00.000Z 2026-11-25T00:00:00.000Z HOUR",
  );
});

test("a range of one's own never ends in the future, begins after its end, or is longer than a year", () => {
  for (const search of [
    { from: "2026-11-20", to: "9999-12-31" },
    { from: "2027-01-01", to: "2026-12-31" },
    { from: "0000-01-01", to: "2026-11-26" },
    { from: "1970-01-01", to: "2026-11-26" },
    { from: "2026-13-45" },
  ]) {
    const range = rangeOf({ range: "custom", ...search }, NOW);
    const starts = startsOf(range);
    expect(starts.length).toBeGreaterThan(0);
    expect(starts.length).toBeLessThanOrEqual(MAX_DAYS);
    expect(range.from.getTime()).toBe(starts[0]);
    expect(dateOf(range.before.getTime() - 1) <= "2026-11-26").toBe(true);
  }
});

test("what is not a range in the URL is ignored", () => {
  expect(overviewSearch.parse({ range: "99d", from: "<script>", to: 7, by: "nobody" })).toEqual({});
  expect(overviewSearch.parse({ range: "24h", by: "provider" })).toEqual({ range: "24h", by: "provider" });
});

test("the runway is the balance at the rate since the first day of the last 7 with spending", () => {
  const day = (startsAt: string, cost: string) => ({ startsAt, stats: { cost } });
  const week = [day("2026-11-20T00:00:00Z", "70"), day("2026-11-23T00:00:00Z", "70")];
  const overDays = (NOW - Date.parse("2026-11-20T00:00:00Z")) / 86_400_000;
  expect(runwayDays("280", week, NOW)).toBeCloseTo(2 * overDays);
  // The first spending was today: it counts as that of a whole day.
  expect(runwayDays("100", [day("2026-11-26T00:00:00Z", "10")], NOW)).toBe(10);
  expect(runwayDays("0", week, NOW)).toBe(0);
  expect(runwayDays("100", [], NOW)).toBeUndefined();
  expect(runwayDays("100", [day("2026-11-20T00:00:00Z", "0")], NOW)).toBeUndefined();
});

test("spending is stacked by the most expensive groups, and the rest is one series, to the neuron", () => {
  const starts = [0, 3_600_000];
  const groups = Array.from({ length: MAX_SERIES + 3 }, (_, n) => `model-${n}`);
  const buckets = groups.flatMap((modelId, n) =>
    starts.map((start) => ({
      startsAt: new Date(start).toISOString(),
      modelId,
      apiKeyId: null,
      providerAddress: null,
      stats: { requestCount: "1", cost: `${(n + 1) * 1_000_000_000_000_000}` },
    })),
  );
  const groupOf = ({ modelId }: { readonly modelId: string }) => ({ id: modelId, name: modelId });
  const series = spendingOf(buckets, starts, groupOf);
  expect(series.map(({ name }) => name)).toEqual([...groups.toReversed().slice(0, MAX_SERIES - 1), "Others"]);
  // 1 + 2 + 3 + 4 thousandths, in each of two hours.
  expect(series.at(-1)).toMatchObject({
    values: [0.01, 0.01],
    text: "0.020000",
    texts: ["0.010000", "0.010000"],
  });
  // 1 + 2 + ... + 9 thousandths.
  expect(totalOf(buckets, starts)).toMatchObject({ text: "0.090000", texts: ["0.045000", "0.045000"] });
  expect(totalOf([], starts)).toMatchObject({ text: "0" });
  const few = spendingOf(buckets.slice(0, 2 * MAX_SERIES), starts, groupOf);
  expect(few.map(({ name }) => name)).not.toContain("Others");
  expect(few).toHaveLength(MAX_SERIES);
});

test("keys of one name are series of their own, and one that is called as the rest is has another name", () => {
  const keys = ["demo", "demo", "Others", "a", "b", "c", "d"].map((name, n) => ({
    id: `key-00000${n}`,
    name,
  }));
  const buckets = keys.map((key, n) => ({
    key,
    startsAt: new Date(0).toISOString(),
    stats: { cost: `${(keys.length - n) * 10 ** 15}` },
  }));
  const series = spendingOf(buckets, [0], ({ key }) => key);
  expect(series.map(({ name, text }) => `${name}: ${text}`)).toEqual([
    "demo (…000000): 0.007000",
    "demo (…000001): 0.006000",
    "Others (…000002): 0.005000",
    "a: 0.004000",
    "b: 0.003000",
    "Others: 0.003000",
  ]);
});
