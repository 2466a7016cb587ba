import fc from "fast-check";
import { expect, test } from "vitest";
import { recordedSaving } from "../../../src/accounts/usage/cache-saving.ts";
import { billedOf, cacheSavingOf, costOf, ratesFor } from "../../../src/inference/billing/pricing.ts";

const price = fc.bigInt(0n, 10n ** 18n);
const prices = fc.record({
  inputPrice: price,
  outputPrice: price,
  cachePrice: fc.record({ read: price, write: price, write1h: price }),
  tiers: fc.constantFrom(undefined, [
    { maxInputTokens: 500, inputPrice: 7n, outputPrice: 9n, cacheReadPrice: 1n },
  ]),
});
const tokens = fc.nat(1_000);
const usages = fc
  .record({ fresh: tokens, read: tokens, write: tokens, write1h: tokens, outputTokens: tokens })
  .map(({ fresh, outputTokens, ...cache }) => ({
    inputTokens: fresh + cache.read + cache.write + cache.write1h,
    outputTokens,
    cache,
  }));

function recorded(
  usage: typeof usages extends fc.Arbitrary<infer T> ? T : never,
  at: Parameters<typeof costOf>[1],
) {
  const { read, write, write1h } = usage.cache;
  const { input: inputPrice, output: outputPrice } = ratesFor(at, usage.inputTokens);
  return { ...usage, cacheTokens: read + write + write1h, inputPrice, outputPrice };
}

test("for any usage and prices, the saving of a recorded request is that of its bill", () => {
  fc.assert(
    fc.property(usages, prices, (usage, at) => {
      const cost = costOf(usage, at);
      const { input: inputCost, output: outputCost } = cost;
      const saving = cacheSavingOf(usage, at, cost);
      expect(recordedSaving({ ...recorded(usage, at), inputCost, outputCost })).toBe(saving);
      const whole = costOf({ ...usage, cache: { read: 0, write: 0, write1h: 0 } }, at).input;
      expect(saving).toBe(whole > inputCost ? whole - inputCost : 0n);
    }),
  );
});

test("a request that the balance did not cover has no known saving", () => {
  const at = { inputPrice: 10n, outputPrice: 20n, cachePrice: { read: 1n } };
  const usage = { inputTokens: 100, outputTokens: 5, cache: { read: 60, write: 0, write1h: 0 } };
  const cost = costOf(usage, at);
  for (const charged of [0n, 1n, cost.input, cost.total - 1n]) {
    const billed = billedOf(cost, charged);
    const { input: inputCost, output: outputCost } = billed;
    expect(recordedSaving({ ...recorded(usage, at), inputCost, outputCost })).toBeNull();
    expect(cacheSavingOf(usage, at, billed)).toBeNull();
  }
  expect(recordedSaving({ ...recorded(usage, at), inputCost: cost.input, outputCost: cost.output })).toBe(
    540n,
  );
});

test("where the output is free, it is known by the recorded cost of the input", () => {
  const at = { inputPrice: 10n, outputPrice: 0n, cachePrice: { read: 1n } };
  const usage = { inputTokens: 100, outputTokens: 5, cache: { read: 60, write: 0, write1h: 0 } };
  const cost = costOf(usage, at);
  for (const charged of [0n, 1n, cost.input - 1n, cost.input]) {
    const billed = billedOf(cost, charged);
    const { input: inputCost, output: outputCost } = billed;
    const wholeInputCost = cost.input;
    const saving = charged === cost.input ? 540n : null;
    expect(recordedSaving({ ...recorded(usage, at), inputCost, outputCost, wholeInputCost })).toBe(saving);
    expect(cacheSavingOf(usage, at, billed)).toBe(saving);
  }
});

test("units, and tokens without a cache, save nothing", () => {
  const at = { inputPrice: 1n, outputPrice: 2n };
  for (const usage of [
    { inputUnits: 3, outputUnits: 4 },
    { inputTokens: 3, outputTokens: 4 },
  ])
    for (const charged of [11n, 10n, 0n])
      expect(cacheSavingOf(usage, at, billedOf(costOf(usage, at), charged))).toBe(0n);
});
