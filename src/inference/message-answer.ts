import type { MessagesRequest } from "./messages-request.ts";
import { readInputUsage, readOutputUsage } from "./messages-usage.ts";
import type { TokenUsage } from "./pricing.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import { countTokens } from "./tokens.ts";
import { noAnswer, readAnswerObject } from "./whole-answer.ts";

/**
 * Judges a whole message, and says what is billed: the provider's usage where it makes sense, else our own count.
 * Throws a `ProviderFailure` for what is no message, and the provider's reason when it blames the request.
 */
export function readMessage(
  answer: ProviderAnswer,
  { promptTokens, maxTokens }: Pick<MessagesRequest, "promptTokens" | "maxTokens">,
): { readonly usage: TokenUsage; readonly estimated: boolean } {
  const { type, content, stop_reason: reason, usage: stated } = readAnswerObject(answer);
  if (type !== "message" || !Array.isArray(content) || (content.length === 0 && typeof reason !== "string"))
    throw noAnswer("The provider's answer is not a message.");
  const input = readInputUsage(stated);
  const outputTokens = readOutputUsage(stated, maxTokens);
  if (input && outputTokens !== undefined) return { usage: { ...input, outputTokens }, estimated: false };
  const counted = countTokens(content.map(blockText).join(""));
  return { usage: { inputTokens: promptTokens, outputTokens: counted }, estimated: true };
}

/** The text that a block of content, or a part of one in a stream, carries: words, thoughts, arguments of tools. */
export function blockText(block: unknown): string {
  if (typeof block !== "object" || block === null) return "";
  const { text, thinking, partial_json, input } = block as Readonly<Record<string, unknown>>;
  const words = [text, thinking, partial_json].filter((part) => typeof part === "string").join("");
  const hasInput = typeof input === "object" && input !== null && Object.keys(input).length > 0;
  return hasInput ? words + JSON.stringify(input) : words;
}
