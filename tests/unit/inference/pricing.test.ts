import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { InferenceRegistry } from "../../../src/chain/direct/inference-registry.ts";
import { finerPriceOf } from "../../../src/inference/billing/finer-price.ts";
import {
  affordableTokens,
  costOf,
  type Price,
  quoteChat,
  ratesFor,
  type TokenUsage,
} from "../../../src/inference/billing/pricing.ts";
import { readUsage } from "../../../src/inference/billing/usage.ts";
import { readInputUsage } from "../../../src/inference/messages/messages-usage.ts";
import { chainProviders } from "../../../src/inference/providers/sources/provider-source.chain.ts";

const TIERED: Price = {
  inputPrice: 10n,
  outputPrice: 20n,
  cachePrice: { read: 1n, write: 12n },
  tiers: [
    { maxInputTokens: 100, inputPrice: 2n, outputPrice: 3n, cacheReadPrice: 0n },
    { maxInputTokens: 200, inputPrice: 30n, outputPrice: 5n },
  ],
};

const amount = fc.bigInt(0n, 10n ** 20n);
const optional = fc.option(amount, { nil: undefined });
const prices: fc.Arbitrary<Price> = fc
  .record({
    inputPrice: amount,
    outputPrice: amount,
    cachePrice: fc.record({ read: optional, write: optional, write1h: optional }),
    lengths: fc.uniqueArray(fc.integer({ min: 1, max: 3_000 }), { maxLength: 4 }),
    tierPrices: fc.array(fc.record({ inputPrice: amount, outputPrice: amount, cacheReadPrice: optional }), {
      minLength: 4,
      maxLength: 4,
    }),
  })
  .map(({ lengths, tierPrices, ...price }) => ({
    ...price,
    tiers: lengths
      .toSorted((a, b) => a - b)
      .map((maxInputTokens, at) => ({ maxInputTokens, ...tierPrices[at] }) as never),
  }));

/** A prompt of at most so many tokens, some of them read from or written to a cache. */
const usages = (most: number) =>
  fc
    .tuple(fc.nat(most), fc.nat(), fc.nat(), fc.nat())
    .map(([inputTokens, a, b, c]): Omit<TokenUsage, "outputTokens"> => {
      const read = a % (inputTokens + 1);
      const write = b % (inputTokens - read + 1);
      const write1h = c % (inputTokens - read - write + 1);
      return { inputTokens, cache: { read, write, write1h } };
    });

describe("a price", () => {
  test("is that of the first tier that is long enough; after the last tier, the higher of that and the base price", () => {
    expect(ratesFor(TIERED, 100)).toMatchObject({ input: 2n, output: 3n, cacheRead: 0n });
    expect(ratesFor(TIERED, 101)).toMatchObject({ input: 30n, output: 5n, cacheRead: 1n });
    expect(ratesFor(TIERED, 201)).toMatchObject({ input: 30n, output: 20n, cacheRead: 1n });
    expect(ratesFor(TIERED, 0)).toMatchObject({ cacheWrite: 12n, cacheWrite1h: 12n });
  });

  test("charges each prompt token once, by its cache use, to the neuron", () => {
    const price: Price = {
      inputPrice: 1_000_000_000_000_000_003n,
      outputPrice: 7n,
      cachePrice: { read: 100_000_000_000_000_001n, write: 1_250_000_000_000_000_009n, write1h: 2n },
    };
    const cache = { read: 5, write: 3, write1h: 2 };
    const cost = costOf({ inputTokens: 20, outputTokens: 4, cache }, price);
    expect(cost.input).toBe(
      10n * 1_000_000_000_000_000_003n + 5n * 100_000_000_000_000_001n + 3n * 1_250_000_000_000_000_009n + 4n,
    );
    expect(cost).toMatchObject({ output: 28n, total: cost.input + 28n });
    const plain = { inputPrice: price.inputPrice, outputPrice: 7n };
    expect(costOf({ inputTokens: 20, outputTokens: 4, cache }, plain).input).toBe(20n * price.inputPrice);
  });

  test("holds enough for any cache use and any tier of a prompt within the counted length", () => {
    const ask = fc.record({
      promptTokens: fc.nat(4_000),
      limit: fc.integer({ min: 1, max: 500 }),
      choices: fc.integer({ min: 1, max: 3 }),
    });
    const given = fc.tuple(prices, ask).chain(([price, asked]) =>
      fc.record({
        price: fc.constant(price),
        asked: fc.constant(asked),
        usage: usages(asked.promptTokens),
        answered: fc.nat(asked.limit * asked.choices),
      }),
    );
    fc.assert(
      fc.property(given, ({ price, asked: { promptTokens, limit, choices }, usage, answered }) => {
        const quote = quoteChat({ promptTokens, maxTokens: limit, modelLimit: limit, choices }, price);
        expect(costOf({ ...usage, outputTokens: answered }, price).total).toBeLessThanOrEqual(quote.maximum);
        const size = { promptTokens, modelLimit: limit, choices };
        const open = quoteChat({ ...size, maxTokens: undefined }, price);
        const held = (open.minimum + open.maximum) / 2n;
        const tokens = affordableTokens(size, price, held);
        expect(tokens).toBeGreaterThanOrEqual(1);
        expect(costOf({ ...usage, outputTokens: tokens * choices }, price).total).toBeLessThanOrEqual(held);
      }),
    );
  });
});

describe("price details of a registry row", () => {
  const stated = {
    CachedPromptPrice: "1",
    CacheWritePrice: "12",
    CacheWrite1hPrice: "20",
    TieredPricing: [
      { MaxInputTokens: 100, PromptPrice: "2", CompletionPrice: "3", CachedPromptPrice: "0" },
      { MaxInputTokens: 200, PromptPrice: "30", CompletionPrice: "5" },
    ],
  };

  test("are read from its additional information", () => {
    expect(finerPriceOf(JSON.stringify(stated))).toMatchObject({
      cachePrice: { read: 1n, write: 12n, write1h: 20n },
      tiers: TIERED.tiers,
    });
    for (const nothing of ["", "{}", "[]", "null", "{", '{"TieredPricing":[]}'])
      expect(finerPriceOf(nothing)).toEqual({ cachePrice: undefined, tiers: undefined });
  });

  test.each([
    ["a number", { CachedPromptPrice: 1 }],
    ["a fraction", { CachedPromptPrice: "1.5" }],
    ["negative", { CachedPromptPrice: "-1" }],
    ["too large", { CachedPromptPrice: "9".repeat(40) }],
  ])("are ignored where a value is %s", (_what, wrong) => {
    expect(finerPriceOf(JSON.stringify({ ...stated, ...wrong }))).toMatchObject({
      cachePrice: { read: undefined, write: 12n },
    });
  });

  test("have no tiers at all where one of them is malformed or they are out of order", () => {
    const [first, second] = stated.TieredPricing;
    for (const TieredPricing of [
      [first, { ...second, PromptPrice: 1 }],
      [second, first],
      [first, first],
      "x",
    ])
      expect(finerPriceOf(JSON.stringify({ ...stated, TieredPricing })).tiers).toBeUndefined();
  });
});

test("a chain offer has every price detail of its row, if it serves chats", async () => {
  const row = {
    serviceType: "chatbot",
    url: "https://provider.example.com",
    model: "m",
    inputPrice: 10n,
    outputPrice: 20n,
    additionalInfo: JSON.stringify({
      CachedPromptPrice: "1",
      TieredPricing: [{ MaxInputTokens: 100, PromptPrice: "2", CompletionPrice: "3" }],
    }),
  };
  const rows = [row, { ...row, serviceType: "text-to-image" }];
  const registry = { all: async () => rows } as unknown as InferenceRegistry;
  const [chat, image] = await chainProviders(registry, { allowsPrivate: false }).load();
  if (!chat || !image) throw new Error("two rows are two offers");
  expect(
    costOf({ inputTokens: 10, outputTokens: 1, cache: { read: 4, write: 0, write1h: 0 } }, chat),
  ).toEqual({
    input: 6n * 2n + 4n * 1n,
    output: 3n,
    total: 19n,
  });
  expect(costOf({ inputTokens: 101, outputTokens: 1 }, chat).total).toBe(101n * 10n + 20n);
  expect(costOf({ inputUnits: 0, outputUnits: 2 }, image).total).toBe(40n);
  expect([image.cachePrice, image.tiers]).toEqual([undefined, undefined]);
});

test("an offer on chain whose model has a character that cannot be stored, or printed, is skipped", async () => {
  const row = {
    serviceType: "chatbot",
    url: "https://provider.example.com",
    inputPrice: 1n,
    outputPrice: 1n,
  };
  const models = ["m", "m\0", "\ud800", "m\n", "m\u0085", "m".repeat(501), "Modèle 2"];
  const rows = models.map((model) => ({ ...row, model, additionalInfo: "" }));
  const registry = { all: async () => rows } as unknown as InferenceRegistry;
  const offers = await chainProviders(registry, { allowsPrivate: false }).load();
  expect(offers.map(({ model }) => model)).toEqual(["m", "Modèle 2"]);
});

test("a provider that reports more cached tokens than the prompt has is not believed, in either format", () => {
  const details = { cached_tokens: 6, cache_write_tokens: 4, cache_write_1h_tokens: 1 };
  const usage = { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: details };
  const limits = { maxInputTokens: 100, maxOutputTokens: 100 };
  expect(readUsage(usage, limits)).toEqual({ input: { inputTokens: 10 }, outputTokens: 1 });
  expect(readUsage({ ...usage, prompt_tokens: 11 }, limits)).toMatchObject({
    input: { cache: { read: 6, write: 4, write1h: 1 } },
  });
  const message = { input_tokens: 3, cache_read_input_tokens: 5, cache_creation_input_tokens: 4 };
  const creation = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 99 };
  expect(readInputUsage({ ...message, cache_creation: creation }, 100)).toEqual({
    inputTokens: 12,
    cache: { read: 5, write: 0, write1h: 4 },
  });
});
