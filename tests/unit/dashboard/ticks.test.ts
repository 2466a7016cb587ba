import fc from "fast-check";
import { expect, test } from "vitest";
import { ticksOf } from "../../../gateway/dashboard/app/parts/chart/ticks.ts";

const textOf = (most: number) => {
  const { values, places } = ticksOf(most);
  return values.map((value) => value.toFixed(places)).join(" ");
};

test("the marks of an axis are at round distances, with equal decimals, and the last is above every value", () => {
  expect(textOf(0.016)).toBe("0.000 0.005 0.010 0.015 0.020");
  expect(textOf(10)).toBe("0.0 2.5 5.0 7.5 10.0 12.5");
  expect(textOf(3)).toBe("0 1 2 3 4");
  expect(textOf(37)).toBe("0 10 20 30 40");
  expect(textOf(0)).toBe("0 1");
  expect(textOf(Number.NaN)).toBe("0 1");
});

test("no two marks of an axis have the same text, whatever its values", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (most) => {
      const { values, places } = ticksOf(most);
      expect(values.length).toBeGreaterThanOrEqual(2);
      expect(values.length).toBeLessThanOrEqual(8);
      expect(values.at(-1)).toBeGreaterThan(most);
      const texts = values.map((value) => value.toFixed(places));
      expect(new Set(texts).size).toBe(texts.length);
      for (const [n, text] of texts.entries()) expect(Number(text)).toBeCloseTo(values[n] ?? 0, places + 1);
    }),
  );
});
