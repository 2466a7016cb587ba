import { expect, test } from "vitest";
import { shareText, spendRows } from "../../../gateway/dashboard/app/pages/tags/spend-rows.ts";

const stats = (requests: number, cost: number) => ({
  requestCount: String(requests),
  inputTokens: String(10 * requests),
  outputTokens: String(requests),
  cost: String(cost),
});
const tag = (name: string, value: string, requests: number, cost: number) => ({
  tag: { name, value },
  stats: stats(requests, cost),
});
const TEAMS = [tag("team", "search", 3, 30), tag("team", "ads", 1, 10)];

test("the last row is of all requests, and with one name of tags the one before is of those without it", () => {
  const rows = spendRows(TEAMS, stats(6, 100), "team");
  expect(rows.map(({ name, stats: { cost } }) => [name, cost])).toEqual([
    ["team", "30"],
    ["team", "10"],
    ["Untagged (no team)", "60"],
    ["Total", "100"],
  ]);
  expect(rows[2]?.stats).toEqual(stats(2, 60));
});

test("what is untagged is not stated over several names, of a list that is cut, or of sums of different moments", () => {
  const names = (rows: ReturnType<typeof spendRows>) => rows.map(({ name }) => name);
  expect(names(spendRows(TEAMS, stats(6, 100), undefined))).toEqual(["team", "team", "Total"]);
  expect(names(spendRows(TEAMS, stats(3, 100), "team"))).toEqual(["team", "team", "Total"]);
  const many = Array.from({ length: 100 }, (_, n) => tag("team", String(n), 1, 1));
  expect(names(spendRows(many, stats(500, 500), "team"))).not.toContain("Untagged (no team)");
  expect(spendRows([], stats(1, 1), undefined)).toEqual([]);
  expect(names(spendRows(TEAMS, undefined, "team"))).toEqual(["team", "team"]);
});

test("a share is rounded to whole percent, and one of less than 1% says so", () => {
  expect(shareText(1n, 3n)).toBe("33%");
  expect(shareText(2n, 3n)).toBe("67%");
  expect(shareText(1n, 1_000n)).toBe("<1%");
  expect(shareText(9n, 1_000n)).toBe("<1%");
  expect(shareText(0n, 10n)).toBe("0%");
  expect(shareText(5n, 5n)).toBe("100%");
  expect(shareText(1n, 0n)).toBe("0%");
});
