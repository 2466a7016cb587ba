// @module-tag medium
import { readFileSync } from "node:fs";
import fc from "fast-check";
import ranks from "gpt-tokenizer/bpeRanks/o200k_base";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { Tokenizer } from "../../../src/inference/billing/tokenizer/tokenizer.ts";
import { NO_TOKEN, Vocabulary } from "../../../src/inference/billing/tokenizer/vocabulary.ts";
import { countBounded, countTokens as countLong } from "../../../src/inference/billing/tokens.ts";
import { threadMs } from "../../support/attack/event-loop.ts";

const vocabulary = new Vocabulary();
const tokenizer = new Tokenizer(vocabulary);
const rankOf = (bytes: Uint8Array) => vocabulary.rankOf(bytes, 0, bytes.length);
const peer = (text: string) => countTokens(text, { disallowedSpecial: new Set() });

describe("the vocabulary", () => {
  test("has each token of o200k_base with its rank (otherwise run `npm run vocabulary`)", () => {
    const tokens = (ranks as readonly (string | readonly number[])[]).map((token) => Buffer.from(token));
    expect(vocabulary.size).toBe(tokens.length);
    expect(tokens.findIndex((bytes, rank) => rankOf(bytes) !== rank)).toBe(-1);
  });

  test("has no other", () => {
    const known = new Set(ranks.map((token) => Buffer.from(token as string).toString("latin1")));
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), (bytes) => {
        const isKnown = known.has(Buffer.from(bytes).toString("latin1"));
        expect(rankOf(bytes) !== NO_TOKEN).toBe(isKnown);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a long count", () => {
  test.each([
    ["prose, whatever its length", "The sea is a wide and open place. ".repeat(200_000)],
    ["1 MB without a space", "语".repeat(333_333)],
  ])("of %s is exact", (_what, text) => {
    expect(countBounded(() => countLong(text))).toBe(countLong(text));
  });

  test.each([
    ["Chinese", "语"],
    ["one letter", "a"],
    ["one sign", "="],
    ["Hangul", "가나다라마바사"],
  ])("of 20 MB of %s without a space takes a bounded time, and is estimated beyond it", (_what, unit) => {
    const text = unit.repeat(20_000_000 / Buffer.byteLength(unit));
    const startedMs = threadMs();
    const tokens = countBounded(() => countLong(text));
    expect(threadMs() - startedMs).toBeLessThan(10_000);
    expect(tokens).toBeGreaterThan(2_000_000);
  });
});

describe("tokens are counted as another tokenizer counts them", () => {
  test.each([
    ["an empty text", ""],
    ["prose", readFileSync("README.md", "utf8")],
    ["source code", readFileSync("tests/unit/billing/tokenizer.test.ts", "utf8")],
    ["contractions in both cases", "I'll we've YOU'RE they'd it's IT'S o'clock 'tis don'T"],
    ["numbers", "1 12 123 1234 12345.6789 ٣٤٥٦ ⅷ"],
    ["spaces and lines", "a  b\t\tc \n\n d\r\n\r\n   e   \n   "],
    ["Chinese", "自然语言处理是计算机科学与人工智能领域中的一个重要方向。"],
    ["Hangul, Thai and Devanagari", "안녕하세요 세계 สวัสดีชาวโลก नमस्ते दुनिया"],
    ["emoji", "👩‍👩‍👧‍👦🏳️‍🌈 ok 👍🏽"],
    ["halves of surrogate pairs", "a\ud800b\udc00 \ud800\ud800"],
    ["names of special tokens", "<|endoftext|><|im_start|>"],
    ["base64", Buffer.from(readFileSync("README.md")).toString("base64").slice(0, 2_000)],
    ["a word of many bytes", "가나다라마바사아자차카타파하".repeat(30)],
  ])("%s", (_, text) => {
    expect(tokenizer.count(text)).toBe(peer(text));
  });

  test("any text", () => {
    // The other one loses a byte order mark that is a word.
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.string({
        unit: fc.constantFrom("a", "B", "é", "'", "s", "ll", " ", "\n", "/", "9", "字"),
        maxLength: 40,
      }),
    );
    fc.assert(
      fc.property(text, (any) => {
        const sent = any.replaceAll("\ufeff", "");
        expect(tokenizer.count(sent)).toBe(peer(sent));
      }),
      { numRuns: 5_000 },
    );
  });

  test("a byte order mark is one token", () => {
    expect(tokenizer.count("\ufeff")).toBe(1);
  });
});
