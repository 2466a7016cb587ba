import { countTokens as count } from "gpt-tokenizer/encoding/o200k_base";

const AS_PLAIN_TEXT = { disallowedSpecial: new Set<string>() };
/** The tokenizer's merge loop is quadratic in the length of one run: 100,000 Chinese characters took 51 s whole. */
const LONGEST_RUN = 256;
const LONG_RUNS = /\S{257,}|\s{257,}/g;
/** What a picture or a sound in a message is taken for, having no text to count. */
const TOKENS_PER_ATTACHMENT = 1_100;
const TOKENS_PER_MESSAGE = 3;
const TOKENS_PER_REPLY = 3;

/** Tokens of a text by the o200k vocabulary: an estimate, since a provider counts with its own. Linear in time. */
export function countTokens(text: string): number {
  let tokens = 0;
  let done = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUNS)) {
    tokens += count(text.slice(done, index), AS_PLAIN_TEXT);
    for (let at = 0; at < run.length; at += LONGEST_RUN)
      tokens += count(run.slice(at, at + LONGEST_RUN), AS_PLAIN_TEXT);
    done = index + run.length;
  }
  return tokens + count(text.slice(done), AS_PLAIN_TEXT);
}

/** Tokens of a conversation in OpenAI's shape: roles, names, texts, tool calls, and a few for the frame. */
export function countPromptTokens(messages: readonly unknown[]): number {
  return messages.reduce<number>(
    (sum, message) => sum + TOKENS_PER_MESSAGE + countFields(message),
    TOKENS_PER_REPLY,
  );
}

function countFields(message: unknown): number {
  if (typeof message !== "object" || message === null) return 0;
  return Object.values(message).reduce<number>((sum, value) => sum + countField(value), 0);
}

function countField(value: unknown): number {
  if (typeof value === "string") return countTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + countPart(part), 0);
  return value === null || value === undefined ? 0 : countTokens(JSON.stringify(value));
}

function countPart(part: unknown): number {
  if (typeof part === "object" && part !== null && "text" in part && typeof part.text === "string")
    return countTokens(part.text);
  if (typeof part === "object" && part !== null && ("image_url" in part || "input_audio" in part))
    return TOKENS_PER_ATTACHMENT;
  return countTokens(JSON.stringify(part) ?? "");
}
