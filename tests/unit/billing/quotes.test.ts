import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { finerPriceOf, MAX_TIERS } from "../../../src/inference/billing/finer-price.ts";
import {
  affordableTokens,
  billedOf,
  costOf,
  type Price,
  quoteChat,
  quoteUnits,
  ratesFor,
} from "../../../src/inference/billing/pricing.ts";
import { readUsd } from "../../../src/inference/routing/routing-preferences.ts";

const amount = fc.bigInt(0n, 10n ** 20n);
const PLAIN: Price = { inputPrice: 2n, outputPrice: 3n };

describe("a bill", () => {
  test("splits the charged amount into input, at most its cost, and output", () => {
    fc.assert(
      fc.property(amount, amount, amount, (input, output, charged) => {
        const billed = billedOf({ input, output, total: input + output }, charged);
        expect(billed.input + billed.output).toBe(charged);
        expect(billed.total).toBe(charged);
        expect(billed.input).toBe(input < charged ? input : charged);
      }),
    );
  });

  test("of images or seconds is each count times the price of its side", () => {
    expect(costOf({ inputUnits: 5, outputUnits: 7 }, PLAIN)).toEqual({ input: 10n, output: 21n, total: 31n });
  });
});

describe("a hold", () => {
  const size = { promptTokens: 10, maxTokens: undefined, modelLimit: 100, choices: 2 };

  test("with a limit on the answer is for exactly that limit", () => {
    expect(quoteChat({ ...size, maxTokens: 4 }, PLAIN)).toEqual({ minimum: 44n, maximum: 44n });
    expect(quoteChat({ ...size, maxTokens: 0 }, PLAIN)).toEqual({ minimum: 20n, maximum: 20n });
  });

  test("without one is for one token of each answer at least, and for the model's limit at most", () => {
    expect(quoteChat(size, PLAIN)).toEqual({ minimum: 20n + 6n, maximum: 20n + 600n });
  });

  test("of known usage is exactly its cost", () => {
    expect(quoteUnits({ inputUnits: 1, outputUnits: 3 }, PLAIN)).toEqual({ minimum: 11n, maximum: 11n });
  });

  test("covers a prompt that is shorter than the bound and so in a more expensive tier", () => {
    const price: Price = {
      inputPrice: 1n,
      outputPrice: 1n,
      tiers: [
        { maxInputTokens: 100, inputPrice: 50n, outputPrice: 70n },
        { maxInputTokens: 1_000, inputPrice: 1n, outputPrice: 1n },
      ],
    };
    const quote = quoteChat({ promptTokens: 200, maxTokens: 10, modelLimit: 10, choices: 1 }, price);
    expect(quote.maximum).toBe(costOf({ inputTokens: 100, outputTokens: 10 }, price).total);
    const affordable = affordableTokens({ promptTokens: 200, modelLimit: 10, choices: 1 }, price, 5_210n);
    expect(affordable).toBe(3);
  });

  test("does not pay for a tier that a prompt within the bound cannot reach", () => {
    const tiers = [
      { maxInputTokens: 100, inputPrice: 1n, outputPrice: 1n },
      { maxInputTokens: 200, inputPrice: 50n, outputPrice: 70n },
    ];
    const asked = { maxTokens: 10, modelLimit: 10, choices: 1 };
    const price = { ...PLAIN, tiers };
    expect(quoteChat({ ...asked, promptTokens: 100 }, price).maximum).toBe(110n);
    expect(quoteChat({ ...asked, promptTokens: 101 }, price).maximum).toBe(101n * 50n + 700n);
  });

  test("covers a prompt that is read from or written to the cache at a higher price", () => {
    for (const name of ["read", "write", "write1h"] as const) {
      const price = { ...PLAIN, cachePrice: { read: 1n, write: 1n, write1h: 1n, [name]: 9n } };
      expect(quoteChat({ ...size, maxTokens: 0 }, price).maximum).toBe(90n);
    }
  });

  test("affords as many tokens as it pays for, at most the model's limit, and any number of free ones", () => {
    const sized = { promptTokens: 10, modelLimit: 100, choices: 2 };
    expect(affordableTokens(sized, PLAIN, 20n + 6n * 5n)).toBe(5);
    expect(affordableTokens(sized, PLAIN, 20n + 6n * 5n - 1n)).toBe(4);
    expect(affordableTokens(sized, PLAIN, 10n ** 30n)).toBe(100);
    expect(affordableTokens(sized, { inputPrice: 2n, outputPrice: 0n }, 20n)).toBe(100);
  });
});

test("beyond the last of several tiers, each rate is the higher of that tier's and the base price's", () => {
  const price: Price = {
    inputPrice: 5n,
    outputPrice: 9n,
    tiers: [
      { maxInputTokens: 5, inputPrice: 200n, outputPrice: 200n },
      { maxInputTokens: 10, inputPrice: 100n, outputPrice: 100n },
      { maxInputTokens: 20, inputPrice: 7n, outputPrice: 3n },
    ],
  };
  expect(ratesFor(price, 21)).toEqual({
    input: 7n,
    output: 9n,
    cacheRead: 7n,
    cacheWrite: 7n,
    cacheWrite1h: 7n,
  });
});

describe("a price in a registry row", () => {
  const tier = (n: number) => ({ MaxInputTokens: n, PromptPrice: "1", CompletionPrice: "1" });
  const tiersOf = (TieredPricing: unknown) => finerPriceOf(JSON.stringify({ TieredPricing })).tiers;

  test("has at most sixteen tiers", () => {
    const tiers = Array.from({ length: MAX_TIERS + 1 }, (_, n) => tier(n + 1));
    expect(tiersOf(tiers.slice(1))).toHaveLength(MAX_TIERS);
    expect(tiersOf(tiers)).toBeUndefined();
  });

  test.each([
    ["no tokens", { ...tier(0) }],
    ["a fraction of a token", { ...tier(1.5) }],
    ["more tokens than any model reads", { ...tier(100_000_001) }],
    ["no price of an answer", { MaxInputTokens: 1, PromptPrice: "1" }],
    ["a malformed cache price", { ...tier(1), CachedPromptPrice: "-1" }],
  ])("has no tier for %s", (_what, wrong) => {
    expect(tiersOf([wrong])).toBeUndefined();
  });

  test.each(["read", "write", "write1h"] as const)("may state the cache price '%s' alone", (name) => {
    const names = { read: "CachedPromptPrice", write: "CacheWritePrice", write1h: "CacheWrite1hPrice" };
    const { cachePrice } = finerPriceOf(JSON.stringify({ [names[name]]: "4" }));
    expect(cachePrice).toEqual({ read: undefined, write: undefined, write1h: undefined, [name]: 4n });
  });

  test.each(["", "01", "1 ", "x1", "1x", "0x1", "9".repeat(32)])("is not read from %j", (text) => {
    expect(finerPriceOf(JSON.stringify({ CachedPromptPrice: text })).cachePrice).toBeUndefined();
  });
});

test("a price cap in dollars is read exactly, whole or with a fraction", () => {
  expect(readUsd("3")).toBe(3n * 10n ** 18n);
  expect(readUsd("0.25")).toBe(25n * 10n ** 16n);
  expect(readUsd("999999999999.000000000000000001")).toBe(999_999_999_999n * 10n ** 18n + 1n);
});
