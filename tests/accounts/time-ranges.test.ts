import fc from "fast-check";
import { expect, test } from "vitest";
import { divideRange, type Grain, type Part } from "../../src/accounts/usage/time-ranges.ts";

const GRAINS: readonly Grain[] = ["month", "day", "hour"];
const HOUR_MS = 3_600_000;
const time = fc.oneof(
  fc.date({ min: new Date("2023-12-30T00:00Z"), max: new Date("2026-03-02T00:00Z"), noInvalidDate: true }),
  fc
    .constantFrom("2024-02-29T00:00Z", "2024-12-31T23:59:59.999Z", "2025-01-01T00:00Z", "2025-03-30T01:00Z")
    .map((text) => new Date(text)),
);
const limit = fc.option(time, { nil: undefined });
const grains = fc.integer({ min: 0, max: 3 }).map((n) => GRAINS.slice(n));

const startOf = (part: Part) => part.from?.getTime() ?? Number.NEGATIVE_INFINITY;
const endOf = (part: Part) => part.before?.getTime() ?? Number.POSITIVE_INFINITY;

function isStart(grain: Grain, at: Date | undefined): boolean {
  const text = at?.toISOString() ?? "";
  const pattern = { hour: /:00:00\.000Z$|^$/, day: /T00:00:00\.000Z$|^$/, month: /-01T00:00:00\.000Z$|^$/ };
  return pattern[grain].test(text);
}

test("the parts of a range follow each other, and nothing is left out or read twice", () => {
  fc.assert(
    fc.property(limit, limit, grains, (from, before, chosen) => {
      const parts = divideRange({ from, before }, chosen).toSorted(
        (one, other) => startOf(one) - startOf(other),
      );
      const isEmpty = from !== undefined && before !== undefined && from >= before;
      expect(parts.length === 0).toBe(isEmpty);
      if (isEmpty) return;
      expect([parts[0]?.from, parts.at(-1)?.before]).toEqual([from, before]);
      for (const [n, part] of parts.entries()) {
        expect(startOf(part)).toBeLessThan(endOf(part));
        if (n > 0) expect(startOf(part)).toBe(endOf(parts[n - 1] as Part));
      }
    }),
  );
});

test("stored periods begin and end with their grain, and the rests are shorter than two hours", () => {
  fc.assert(
    fc.property(limit, limit, (from, before) => {
      for (const part of divideRange({ from, before }, GRAINS)) {
        if (!part.grain) expect(endOf(part) - startOf(part)).toBeLessThan(2 * HOUR_MS);
        else expect([isStart(part.grain, part.from), isStart(part.grain, part.before)]).toEqual([true, true]);
      }
    }),
  );
});

test("at most seven parts cover any range, and the last month has no next one", () => {
  fc.assert(
    fc.property(limit, limit, (from, before) => {
      expect(divideRange({ from, before }, GRAINS).length).toBeLessThanOrEqual(7);
    }),
  );
  const last = new Date("9999-12-31T00:00:00Z");
  expect(divideRange({ from: last, before: undefined }, GRAINS)).toEqual([
    { from: last, before: undefined, grain: "day" },
  ]);
  const nearly = new Date(last.getTime() - 1);
  expect(divideRange({ from: nearly, before: undefined }, GRAINS).map(({ grain }) => grain)).toEqual([
    undefined,
    "day",
  ]);
  const end = new Date("9999-12-31T23:59:59.999Z");
  expect(divideRange({ from: end, before: undefined }, GRAINS)).toEqual([
    { from: end, before: undefined, grain: undefined },
  ]);
});
