// @module-tag medium
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCompletionsRequest } from "../../../src/inference/completions/completions-request.ts";
import {
  embeddingsBody,
  readEmbeddingsRequest,
} from "../../../src/inference/embeddings/embeddings-request.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { endOfTokens } from "../../../src/kernel/text/token-list.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";

/** 50 ms, and what calibration of a busy machine may miss. */
const MAX_TURN_MS = 100;
const MAX_TOKENS = 524_288;
const MAX_INPUTS = 2_048;
const FILL = "x".repeat(2 * 1_048_576);

const tokens = (count: number, first: number) => Array.from({ length: count }, (_, n) => first + (n % 9_000));
const lists = (count: number, length: number, first: number) =>
  Array.from({ length: count }, () => tokens(length, first));
/** As Python writes JSON: with a space after each comma and colon. */
const spaced = (value: unknown) => JSON.stringify(value, null, 1).replace(/\n */g, " ");
const texts = (length: number) =>
  Array.from({ length: MAX_INPUTS }, (_, n) => `${n} `.padEnd(length, "word "));

const INPUTS: readonly (readonly [string, string, number])[] = [
  ["200 lists of 1,500 ids of six digits", JSON.stringify(lists(200, 1_500, 150_000)), 200],
  ["524,288 ids of four digits", JSON.stringify(tokens(MAX_TOKENS, 1_000)), 1],
  ["524,288 ids of seven digits with spaces", spaced(tokens(MAX_TOKENS, 1_000_000)), 1],
  ["2,048 lists of such ids", spaced(lists(MAX_INPUTS, MAX_TOKENS / MAX_INPUTS, 1_000_000)), MAX_INPUTS],
  ...[900, 1_020, 1_023, 1_024, 1_100, 8_000, 16_000].map(
    (length) => [`2,048 texts of ${length} bytes`, JSON.stringify(texts(length)), MAX_INPUTS] as const,
  ),
];

test.each(INPUTS)("%s are read in short turns, and forwarded unchanged", async (_what, input, inputs) => {
  const body = Buffer.from(`{"model":"m","input":${input}}`);
  const provider = { model: "m" } as Provider;
  let forwarded: Buffer = body;
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    const request = await readEmbeddingsRequest(body);
    expect(request.inputs).toBe(inputs);
    forwarded = embeddingsBody(request, provider);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  expect(forwarded.equals(body)).toBe(true);
  // `verify_tee` is not forwarded.
  const extended = Buffer.from(`{"model":"m","input":${input},"verify_tee":false,"user":"u"}`);
  const edited = embeddingsBody(await readEmbeddingsRequest(extended), { ...provider, upstreamModel: "n" });
  expect(JSON.parse(edited.toString("utf8"))).toEqual({
    ...JSON.parse(body.toString("utf8")),
    ...{ model: "n", user: "u" },
  });
});

test("a prompt of as many tokens is read in short turns", async () => {
  const body = Buffer.from(`{"model":"m","prompt":${spaced(tokens(MAX_TOKENS, 1_000_000))}}`);
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    expect((await readCompletionsRequest(body)).prompts).toBe(1);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});

describe("beyond the limits", () => {
  const read = async (body: string) => {
    try {
      await readEmbeddingsRequest(Buffer.from(body));
      return undefined;
    } catch (error) {
      if (error instanceof AppError) return { code: error.code, param: error.param, message: error.message };
      throw error;
    }
  };
  const invalid = (param: string, message: string) => ({ code: "invalid_body", param, message });
  const kept =
    "the body has more than 2097152 bytes besides strings of 257 bytes and more and lists of tokens";

  test.each<[string, string, object]>([
    [
      "524,290 tokens",
      `{"model":"m","input":${JSON.stringify(tokens(MAX_TOKENS + 2, 1_000))}}`,
      invalid("input", "input: the body has more than 524288 numbers in lists"),
    ],
    [
      "more tokens in many lists",
      `{"model":"m","input":${JSON.stringify(lists(MAX_INPUTS, 258, 1_000_000))}}`,
      invalid("input", "input: the body has more than 524288 numbers in lists"),
    ],
    [
      "tokens with much white space",
      `{"model":"m","input":[${`[${" ".repeat(3_000_000)}1],`.repeat(3)}[1]]}`,
      invalid("input", "input: the body has more than 6291456 bytes of tokens"),
    ],
    [
      "many short texts",
      JSON.stringify({ model: "m", input: Array.from({ length: 9_000 }, () => "a".repeat(255)) }),
      invalid("input", `input: ${kept}`),
    ],
    [
      "another member with many short texts",
      JSON.stringify({ model: "m", user: Array.from({ length: 9_000 }, () => "a".repeat(255)), input: "a" }),
      invalid("user", `user: ${kept}`),
    ],
    [
      "many values",
      `{"model":"m","input":[${"[1],".repeat(65_540)}[1]]}`,
      invalid("input", "input: the body has more than 65536 values"),
    ],
  ])("%s are refused with the limit and the member", async (_what, body, failure) => {
    expect(await read(body)).toEqual(failure);
  });

  const long = tokens(200, 1_000_000).join(",");
  test.each([
    ["two commas", `[${long},,1]`, "body"],
    ["a comma at the end", `[${long},]`, "body"],
    ["no comma", `[${long} 1]`, "body"],
    ["a leading zero", `[${long},01]`, "body"],
    ["no end", `[${long}`, "body"],
    ["a fraction", `[${long},1.5]`, "input"],
    ["a negative number", `[${long},-1]`, "input"],
    ["an unsafe number", `[${long},9007199254740993]`, "input"],
    ["null", `[${long},null]`, "input"],
    ["a text", `[[${long}],"a"]`, "input"],
  ])("a list of tokens with %s is refused like a short one", async (_what, input, param) => {
    const small = await read(`{"input":${input},"model":"m"}`);
    expect(small).toMatchObject({ code: "invalid_body", param });
    expect(await read(`{"input":${input},"model":"m","fill":"${FILL}"}`)).toEqual(small);
  });
});

test("lists elsewhere keep their own limit", async () => {
  const body = (count: number) =>
    Buffer.from(`{"model":"m","input":"a","logit_bias":[${tokens(count, 1_000)}],"fill":"${FILL}"}`);
  expect((await readEmbeddingsRequest(body(65_000))).inputs).toBe(1);
  await expect(readEmbeddingsRequest(body(65_540))).rejects.toThrow("more than 65536 values");
});

test("what is taken for a list of tokens is one for every parser", () => {
  const piece = fc.constantFrom(
    "1",
    "0",
    "01",
    "12345",
    "-1",
    "1.0",
    "1e3",
    ",",
    ",",
    " ",
    "\n",
    "]",
    "[",
    '"a"',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = `[${pieces.join("")}`;
      const list = endOfTokens(Buffer.from(text), 0);
      if (!list) return;
      const parsed: unknown = JSON.parse(text.slice(0, list.end + 1));
      expect(parsed).toHaveLength(list.commas + 1);
      expect((parsed as number[]).every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true);
    }),
    { numRuns: 20_000, seed: 7 },
  );
});
