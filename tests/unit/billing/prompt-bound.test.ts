import { describe, expect, test } from "vitest";
import {
  boundPrompt,
  promptTokensOf,
  type QuotedChat,
  quotePrompt,
} from "../../../src/inference/billing/prompt-bound.ts";
import type { PromptFields } from "../../../src/inference/billing/tokens.ts";
import { offer } from "../../support/inference/offers.ts";

/** The bound for a request whose body is this JSON and as many spaces as reach `bytes`. */
function boundOf(fields: PromptFields, bytes = 0) {
  return boundPrompt(fields, Buffer.from(JSON.stringify(fields).padEnd(bytes)));
}
const said = (...content: unknown[]): PromptFields => ({ messages: [{ role: "user", content }] });
const lengthOf = (fields: PromptFields) => JSON.stringify(fields).length;

describe("the bound of a prompt", () => {
  test("is one token for each byte of text, and the provider's template", () => {
    const fields = said({ type: "text", text: "hello" });
    expect(boundOf(fields)).toEqual({
      maxTokens: lengthOf(fields) + 256,
      likelyTokens: Math.ceil(lengthOf(fields) / 4),
      isShort: true,
    });
  });

  test.each([
    ["an image", { image_url: { url: "data:image/png;base64,AAAA" } }, 26, 16_384, 1_100],
    ["an audio file", { input_audio: { data: "AAAAAAAA" } }, 8, 65_536, 1_100],
    ["a video", { video_url: { url: "https://example.com/v" } }, 21, 131_072, 10_000],
    ["a file", { file: { file_data: "AAAA" } }, 4, 131_072, 10_000],
  ])("counts %s by its kind and not by its bytes", (_what, part, length, most, usual) => {
    const fields = said(part);
    const text = lengthOf(fields) - length;
    expect(boundOf(fields)).toEqual({
      maxTokens: text + 256 + most,
      likelyTokens: Math.ceil(text / 4) + usual,
      isShort: false,
    });
  });

  test("counts each of several attachments, those of the system prompt and within tool results too", () => {
    const image = { type: "image", source: { type: "base64", data: "AAAA" } };
    const fields = {
      messages: [{ role: "user", content: [image, { type: "tool_result", content: [image] }] }],
      system: [image],
    };
    expect(boundOf(fields).maxTokens).toBe(lengthOf(fields) - 3 * 4 + 256 + 3 * 16_384);
  });

  test("is that of a short prompt up to 4 KiB", () => {
    const fields = said({ type: "text", text: "hello" });
    expect([4_096, 4_097].map((bytes) => boundOf(fields, bytes).isShort)).toEqual([true, false]);
  });
});

describe("the hold for a prompt", () => {
  const provider = offer(1, { inputPrice: 10n, outputPrice: 1n });
  const chat = (isShort: boolean, counted?: number): QuotedChat => ({
    prompt: { maxTokens: 1_000, likelyTokens: 200, isShort },
    counted,
    maxTokens: 5,
    modelLimit: 50,
    choices: 1,
  });

  test("is for its bound until it is counted", () => {
    for (const isShort of [true, false])
      expect(quotePrompt(chat(isShort), provider)).toEqual({ minimum: 10_005n, maximum: 10_005n });
  });

  test("is for the count of a short one", () => {
    expect(quotePrompt(chat(true, 300), provider)).toEqual({ minimum: 3_005n, maximum: 3_005n });
  });

  test("is for the bound of a long one, and for at least its count where the balance is short", () => {
    expect(quotePrompt(chat(false, 300), provider)).toEqual({ minimum: 3_005n, maximum: 10_005n });
  });

  test("is never less than for its count, even where that is above the bound", () => {
    expect(quotePrompt(chat(false, 2_000), provider)).toEqual({ minimum: 20_005n, maximum: 20_005n });
  });

  test("is for no more than the context of the model", () => {
    const short = offer(1, { ...provider, profile: { formats: ["openai"], contextLength: 100 } });
    expect(quotePrompt(chat(false), short)).toEqual({ minimum: 1_005n, maximum: 1_005n });
  });

  test("limits the answer by the count, if there is one, otherwise by the bound within the context", () => {
    const short = offer(1, { profile: { formats: ["openai"], contextLength: 100 } });
    expect(promptTokensOf(chat(false, 300), provider)).toBe(300);
    expect(promptTokensOf(chat(false, 0), provider)).toBe(0);
    expect(promptTokensOf(chat(false), provider)).toBe(1_000);
    expect(promptTokensOf(chat(false), short)).toBe(100);
  });
});
