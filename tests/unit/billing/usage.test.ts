import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CacheTokens, TokenUsage } from "../../../src/inference/billing/pricing.ts";
import {
  chatUsage,
  isCacheShown,
  isShown,
  meterUsage,
  readUsage,
  usageLimits,
  wholeUsage,
} from "../../../src/inference/billing/usage.ts";

const LIMITS = { maxInputTokens: 1_000, maxOutputTokens: 500 };
const count = fc.nat(300);
const cacheTokens: fc.Arbitrary<CacheTokens> = fc.record({ read: count, write: count, write1h: count });
const usages: fc.Arbitrary<TokenUsage> = fc
  .record({ cache: fc.option(cacheTokens, { nil: undefined }), more: fc.nat(100), outputTokens: fc.nat(500) })
  .map(({ cache, more, outputTokens }) => {
    const cached = cache ? cache.read + cache.write + cache.write1h : 0;
    return { inputTokens: cached + more, outputTokens, ...(cache && { cache }) };
  });

describe("a provider's reported usage", () => {
  test("is believed as reported, cache use included", () => {
    fc.assert(
      fc.property(usages, (usage) => {
        const read = readUsage(chatUsage(usage), LIMITS);
        expect(wholeUsage(read)).toEqual(usage);
      }),
    );
  });

  test("is believed up to the limit of its side, and not above", () => {
    const stated = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
    expect(readUsage(stated, LIMITS)).toEqual({ input: { inputTokens: 1_000 }, outputTokens: 500 });
    const aboveInput = readUsage({ ...stated, prompt_tokens: 1_001, total_tokens: 1_501 }, LIMITS);
    expect(aboveInput).toEqual({ input: undefined, outputTokens: 500 });
    const aboveOutput = readUsage({ ...stated, completion_tokens: 501, total_tokens: 1_501 }, LIMITS);
    expect(aboveOutput).toEqual({ input: { inputTokens: 1_000 }, outputTokens: undefined });
  });

  test("of an unknown model is limited by the longest context of any, of a known one by its own", () => {
    expect(usageLimits({ profile: { formats: ["openai"], contextLength: 8_192 } }, 7)).toEqual({
      maxInputTokens: 8_192,
      maxOutputTokens: 7,
    });
    expect(usageLimits({ profile: { formats: ["openai"], contextLength: 8_192 } }, 7, 3).maxInputTokens).toBe(
      3 * 8_192,
    );
    const unknown = usageLimits({ profile: { formats: ["openai"] } }, 7);
    expect(unknown).toEqual({ maxInputTokens: 10_485_760, maxOutputTokens: 7 });
  });

  test.each([-1, 1.5, "5", null, true, [], 2 ** 53, undefined])(
    "does not include a side reported as %j, and the other side stays",
    (wrong) => {
      expect(readUsage({ prompt_tokens: wrong, completion_tokens: 3 }, LIMITS)).toEqual({
        input: undefined,
        outputTokens: 3,
      });
      expect(readUsage({ prompt_tokens: 3, completion_tokens: wrong }, LIMITS)).toEqual({
        input: { inputTokens: 3 },
        outputTokens: undefined,
      });
    },
  );

  test.each([undefined, null, 5, "usage", []])("of %j states nothing", (stated) => {
    expect(readUsage(stated, LIMITS)).toEqual({ input: undefined, outputTokens: undefined });
  });

  test("of zero is zero", () => {
    const stated = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    expect(readUsage(stated, LIMITS)).toEqual({ input: { inputTokens: 0 }, outputTokens: 0 });
  });

  test("states nothing where its total is not the sum, with or without the reasoning apart", () => {
    const stated = { prompt_tokens: 10, completion_tokens: 5 };
    const believed = { input: { inputTokens: 10 }, outputTokens: 5 };
    const nothing = { input: undefined, outputTokens: undefined };
    const reasoned = { ...stated, completion_tokens_details: { reasoning_tokens: 4 } };
    for (const total_tokens of [undefined, null, 15])
      expect(readUsage({ ...stated, total_tokens }, LIMITS)).toEqual(believed);
    expect(readUsage({ ...reasoned, total_tokens: 15 }, LIMITS)).toEqual({ ...believed, reasoningTokens: 4 });
    // Reasoning that the total shows apart from the answer is charged like it, within the limit of the request.
    expect(readUsage({ ...reasoned, total_tokens: 19 }, LIMITS)).toEqual({
      ...{ ...believed, outputTokens: 9, reasoningTokens: 4 },
    });
    expect(readUsage({ ...reasoned, total_tokens: 19 }, { ...LIMITS, maxOutputTokens: 7 })).toEqual({
      ...{ ...believed, outputTokens: 7, reasoningTokens: 4 },
    });
    for (const total_tokens of [0, 11, 14, 16])
      expect(readUsage({ ...reasoned, total_tokens }, LIMITS)).toEqual(nothing);
    expect(readUsage({ ...stated, total_tokens: 19 }, LIMITS)).toEqual(nothing);
    // One side alone has no sum.
    expect(readUsage({ prompt_tokens: 10, total_tokens: 99 }, LIMITS).input).toEqual({ inputTokens: 10 });
    expect(readUsage({ completion_tokens: 5, total_tokens: 99 }, LIMITS).outputTokens).toBe(5);
  });

  test("states reasoning only as a part of the answer", () => {
    const stated = { prompt_tokens: 10, completion_tokens: 5 };
    const reasoning = (reasoning_tokens: unknown) => ({ completion_tokens_details: { reasoning_tokens } });
    const { reasoningTokens } = readUsage({ ...stated, ...reasoning(5) }, LIMITS);
    expect(reasoningTokens).toBe(5);
    for (const count of [0, 6, -1, 1.5, "3", null])
      expect(readUsage({ ...stated, ...reasoning(count) }, LIMITS)).not.toHaveProperty("reasoningTokens");
  });

  test("keeps its valid cache counts where another is malformed", () => {
    const details = { cached_tokens: 4, cache_write_tokens: -1, cache_write_1h_tokens: "x" };
    const read = readUsage({ prompt_tokens: 10, prompt_tokens_details: details }, LIMITS);
    expect(read.input).toEqual({ inputTokens: 10, cache: { read: 4, write: 0, write1h: 0 } });
  });

  test("is whole only with both sides", () => {
    const input = { inputTokens: 1 };
    expect(wholeUsage({ input, outputTokens: 0 })).toEqual({ inputTokens: 1, outputTokens: 0 });
    expect(wholeUsage({ input, outputTokens: undefined })).toBeUndefined();
    expect(wholeUsage({ input: undefined, outputTokens: 2 })).toBeUndefined();
  });
});

describe("the billed usage", () => {
  const optional = fc.option(count, { nil: undefined });

  test("has each side as reported, otherwise as counted, at most the requested output, and says if it is estimated", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          input: optional,
          output: optional,
          counted: count,
          uncounted: fc.constantFrom(0, 1, 40),
        }),
        fc.record({ maxInputTokens: fc.nat(300), maxOutputTokens: fc.nat(300) }),
        async ({ input, output, counted, uncounted }, limits) => {
          const stated = {
            input: input === undefined ? undefined : { inputTokens: input },
            outputTokens: output,
          };
          const metered = await meterUsage(
            stated,
            { input: async () => counted, uncounted: async () => uncounted },
            limits,
          );
          expect(metered.usage).toEqual({
            inputTokens: input ?? Math.min(counted, limits.maxInputTokens),
            outputTokens: Math.min((output ?? 0) + uncounted, limits.maxOutputTokens),
          });
          expect(metered.estimated).toBe(input === undefined || output === undefined || uncounted > 0);
        },
      ),
    );
  });

  test("keeps the reported cache use, and does not count a reported prompt again", async () => {
    const cache = { read: 3, write: 2, write1h: 1 };
    const stated = { input: { inputTokens: 10, cache }, outputTokens: 4 };
    const limits = { maxInputTokens: 100, maxOutputTokens: 100 };
    const never = () => Promise.reject(new Error("the prompt was counted"));
    const metered = await meterUsage(stated, { input: never, uncounted: async () => 0 }, limits);
    expect(metered).toEqual({ usage: { inputTokens: 10, outputTokens: 4, cache }, estimated: false });
  });
});

describe("the usage shown to a client", () => {
  test("has the total of both sides, and the cache writes only where there were any", () => {
    expect(chatUsage({ inputTokens: 9, outputTokens: 5 })).toEqual({
      prompt_tokens: 9,
      completion_tokens: 5,
      total_tokens: 14,
    });
    const shown = (cache: CacheTokens) =>
      chatUsage({ inputTokens: 9, outputTokens: 5, cache }).prompt_tokens_details;
    expect(shown({ read: 0, write: 0, write1h: 0 })).toEqual({ cached_tokens: 0 });
    expect(shown({ read: 1, write: 2, write1h: 0 })).toEqual({ cached_tokens: 1, cache_write_tokens: 2 });
    expect(shown({ read: 1, write: 0, write1h: 3 })).toEqual({ cached_tokens: 1, cache_write_1h_tokens: 3 });
  });

  test("is the provider's own if and only if its cache counts are the billed ones", () => {
    fc.assert(
      fc.property(cacheTokens, fc.constantFrom("read", "write", "write1h"), ({ ...cache }, side) => {
        const stated = chatUsage({ inputTokens: 900, outputTokens: 1, cache });
        expect(isCacheShown(stated, { cache })).toBe(true);
        const other = { ...cache, [side]: cache[side] + 1 };
        // A count that is not shown contradicts nothing.
        const isHidden = side !== "read" && cache[side] === 0;
        expect(isCacheShown(stated, { cache: other })).toBe(isHidden);
      }),
    );
  });

  test("is the provider's own where it states no cache counts, and is not where they are malformed", () => {
    const cache = { read: 1, write: 0, write1h: 0 };
    for (const stated of [
      null,
      undefined,
      "x",
      {},
      { prompt_tokens_details: null },
      { prompt_tokens_details: {} },
    ])
      expect(isCacheShown(stated, { cache })).toBe(true);
    for (const prompt_tokens_details of ["x", 1, true])
      expect(isCacheShown({ prompt_tokens_details }, { cache })).toBe(false);
    expect(isCacheShown({ prompt_tokens_details: { cached_tokens: 0 } }, {})).toBe(true);
    expect(isCacheShown({ prompt_tokens_details: { cached_tokens: 1 } }, {})).toBe(false);
    expect(isCacheShown({ prompt_tokens_details: { cached_tokens: null } }, { cache })).toBe(true);
  });

  test("has a member where the count is there and equal", () => {
    expect([{ n: 1 }, {}, { n: null }, 5, null].map((object) => isShown(object, "n", 1))).toEqual(
      Array(5).fill(true),
    );
    expect([{ n: 2 }, { n: "1" }].map((object) => isShown(object, "n", 1))).toEqual([false, false]);
  });
});
