import fc from "fast-check";
import { expect, test } from "vitest";
import {
  nearestNeuron,
  placesOf,
  toNeuron,
  toPlainTokens,
  toTokens,
} from "../../../gateway/dashboard/app/data/amounts.ts";

const UNIT = 10n ** 18n;

/** What a shown amount says, in neuron. */
function read(text: string): bigint {
  const [whole = "", decimals = ""] = text.replaceAll(" ", "").replace("−", "").split(".");
  const size = BigInt(whole) * UNIT + BigInt(decimals.padEnd(18, "0"));
  return text.startsWith("−") ? -size : size;
}

const neuron = fc.oneof(
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
  fc.bigInt({ min: 0n, max: 10n ** 14n }),
);
const places = fc.integer({ min: 0, max: 18 });

test("a rounded amount differs from the exact one by at most half of its last decimal, and so do both forms of it", () => {
  fc.assert(
    fc.property(neuron, places, fc.boolean(), (value, decimals, isFixed) => {
      const text = toTokens(value, decimals, { isFixed });
      const difference = read(text) - value;
      // With fewer decimals than asked for, those cut are zeros.
      const shown = Math.max(decimals, text.split(".")[1]?.length ?? 0);
      const step = 10n ** BigInt(18 - Math.min(18, shown));
      expect(2n * (difference < 0n ? -difference : difference)).toBeLessThanOrEqual(step);
      expect(read(toTokens(value, decimals))).toBe(read(text));
    }),
  );
});

test("no amount above zero is shown as zero, however few decimals are asked for", () => {
  fc.assert(
    fc.property(neuron, places, (value, decimals) => {
      expect(read(toTokens(value, decimals)) === 0n).toBe(value === 0n);
    }),
  );
});

test("an amount for a form or a file is exact, and is read back as it was", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (value) => {
      expect(toNeuron(toPlainTokens(value))).toBe(value.toString());
    }),
  );
  expect(toNeuron(toPlainTokens(2n ** 256n))).toBeUndefined();
});

test("halves are rounded up, small amounts have two significant digits, and a column has the same decimals", () => {
  expect(toTokens("9983995400000000000", 6)).toBe("9.983995");
  expect(toTokens("16004600000000000", 6)).toBe("0.016005");
  expect(toTokens("4600000000000", 6)).toBe("0.0000046");
  expect(toTokens("4600000000000", 2)).toBe("0.0000046");
  expect(toTokens("9995000000000000000", 2)).toBe("10");
  expect(toTokens("-1500000000000000000", 0)).toBe("−1.5");
  expect(toTokens("320000000000000", 6, { isFixed: true })).toBe("0.000320");
  expect(toTokens("1234567000000000000000", 2, { isFixed: true })).toBe("1 234.57");
  expect(toTokens("0", 6, { isFixed: true })).toBe("0");
  expect(toTokens("1")).toBe("0.000000000000000001");
});

test("the amounts of a column that adds up are shown with the decimals that all of them need", () => {
  expect(placesOf([972_000_000_000_000n, 320_000_000_000_000n])).toBe(6);
  expect(placesOf([UNIT, 0n])).toBe(0);
  expect(placesOf([])).toBe(0);
  expect(placesOf([1n])).toBe(0);
  expect(placesOf([1_000_001n])).toBe(12);
});

test("a JSON number of tokens is the neuron that its shortest decimal says", () => {
  expect(nearestNeuron(0.1)).toBe("100000000000000000");
  expect(nearestNeuron(1e-18)).toBe("1");
  expect(nearestNeuron(1e21)).toBe(String(10n ** 39n));
  expect(nearestNeuron(0)).toBe("0");
  expect(nearestNeuron(-1)).toBeUndefined();
});
