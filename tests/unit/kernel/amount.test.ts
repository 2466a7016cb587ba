import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatToken,
  MAX_NEURON,
  NEURON_PER_TOKEN,
  parseNeuron,
  parseToken,
  plainDecimal,
} from "../../../src/kernel/text/amount.ts";

const invalid = expect.objectContaining({ code: "invalid_parameter" });

test("the largest amount is that of the chain, 2^256 - 1 neuron, and one more is refused", () => {
  expect(parseNeuron(`${2n ** 256n - 1n}`)).toBe(2n ** 256n - 1n);
  expect(() => parseNeuron(`${2n ** 256n}`)).toThrow(invalid);
});

test.each([
  [0n, "0"],
  [1n, "0.000000000000000001"],
  [-1n, "-0.000000000000000001"],
  [NEURON_PER_TOKEN, "1"],
  [-(15n * 10n ** 17n), "-1.5"],
  [1_000n * NEURON_PER_TOKEN, "1000"],
])("%s neuron are shown as %s tokens", (neuron, text) => {
  expect(formatToken(neuron)).toBe(text);
});

test("a debit is shown as the same amount with a sign", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: MAX_NEURON }), (neuron) => {
      expect(formatToken(-neuron)).toBe(`-${formatToken(neuron)}`);
    }),
  );
});

test.each([
  ["0", 0n],
  ["7", 7n * NEURON_PER_TOKEN],
  ["0.05", 5n * 10n ** 16n],
  ["12.000000000000000003", 12n * NEURON_PER_TOKEN + 3n],
  [`1${"0".repeat(59)}`, 10n ** 77n],
])("%s tokens are read to the last neuron", (text, neuron) => {
  expect(parseToken(text)).toBe(neuron);
});

test.each([
  "",
  ".5",
  "1.",
  "01",
  "-1",
  "+1",
  "1e3",
  " 1",
  "1 ",
  "1,5",
  "a1",
  "1.5x",
  "1.x",
  "0.0000000000000000001",
  `1${"0".repeat(60)}`,
])("%j is not an amount of tokens", (text) => {
  expect(() => parseToken(text)).toThrow(invalid);
});

test("a number is shown with all its digits, and reads back as itself", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = plainDecimal(value);
      expect(text).toMatch(/^-?\d+(\.\d+)?$/);
      expect(Number(text)).toBe(value === 0 ? 0 : value);
    }),
  );
});

test.each([
  [1e-7, "0.0000001"],
  [-1.25e-7, "-0.000000125"],
  [1e21, "1000000000000000000000"],
  [-1.5e21, "-1500000000000000000000"],
  [0.5, "0.5"],
  [Number.NaN, "NaN"],
  [Number.NEGATIVE_INFINITY, "-Infinity"],
])("%s is shown as %s", (value, text) => {
  expect(plainDecimal(value)).toBe(text);
});
