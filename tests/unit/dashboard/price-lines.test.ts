import { expect, test } from "vitest";
import { priceLinesOf } from "../../../gateway/dashboard/app/pages/requests/price-lines.ts";

const REQUEST = {
  inputTokens: 100,
  outputTokens: 10,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  cachedFrom: null,
  prices: { input: "2", output: "5" },
  cost: { input: "200", output: "50", cacheSaving: "0" },
};

/** The lines, of which the sum is always what was charged. */
function linesOf(change: Partial<Parameters<typeof priceLinesOf>[0]>) {
  const request = { ...REQUEST, ...change };
  const lines = priceLinesOf(request);
  const sum = lines.reduce((total, { amount }) => total + amount, 0n);
  expect(sum).toBe(BigInt(request.cost.input) + BigInt(request.cost.output));
  return lines.map(({ name, amount }) => [name, amount]);
}

test("tokens times prices", () => {
  expect(linesOf({})).toEqual([
    ["Input tokens", 200n],
    ["Output tokens", 50n],
  ]);
});

test("what the cache saved is a line of its own, and so is what writing to it cost more", () => {
  const cost = { input: "140", output: "50", cacheSaving: "60" };
  expect(linesOf({ cachedTokens: 60, cost })).toContainEqual(["Saved by the provider's cache", -60n]);
  const written = { input: "260", output: "50", cacheSaving: "0" };
  expect(linesOf({ cacheWriteTokens: 60, cost: written })).toContainEqual([
    "Written to the provider's cache",
    60n,
  ]);
});

test("what the balance did not cover is not called a saving", () => {
  const cost = { input: "150", output: "0", cacheSaving: null };
  expect(linesOf({ cachedTokens: 10, cost })).toEqual([
    ["Input tokens", 200n],
    ["Not charged", -50n],
    ["Output tokens", 50n],
    ["Not charged", -50n],
  ]);
});

test("a stored answer says why it is cheaper", () => {
  const cost = { input: "0", output: "0", cacheSaving: null };
  expect(linesOf({ cachedFrom: "req-1", cost }).filter(([name]) => name === "Stored answer")).toHaveLength(2);
});

test("images, seconds and characters are counted in units", () => {
  const cost = { input: "0", output: "15", cacheSaving: "0" };
  const units = { inputTokens: null, outputTokens: null, cost };
  expect(linesOf(units)).toEqual([["Output", 15n]]);
  expect(priceLinesOf({ ...REQUEST, ...units })[0]?.count).toBe(3n);
});
