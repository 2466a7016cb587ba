import { ATTACHMENT_TOKENS, attachmentOf, partsWithin } from "../body/attachments.ts";
import { Tokenizer } from "./tokenizer/tokenizer.ts";
import { Vocabulary } from "./tokenizer/vocabulary.ts";

const tokenizer = new Tokenizer(new Vocabulary());
/** The tokenizer takes time quadratic in the length of a run. */
const MAX_RUN_LENGTH = 256;
/** Bounded, because the regex engine uses stack for each character of a match: 8 million characters overflow it. */
const LONG_RUNS = /\S{257,65536}|\s{257,65536}/g;
/**
 * The work that a long count may take, about two seconds: that of 3 MB without a single space or sign of punctuation.
 * Prose takes a fiftieth of it, whatever its length.
 */
const MAX_STEPS = 1_000_000_000;
const TOKENS_PER_MESSAGE = 3;
const TOKENS_PER_REPLY = 3;

/**
 * Counts the tokens of a text with the o200k vocabulary: an estimate, since each provider uses its own. Linear time,
 * but slow: up to 2 ms per 1,000 characters, so texts over `MAX_INLINE_BYTES` are counted on a `BodyPool` thread.
 */
export function countTokens(text: string): number {
  let tokens = 0;
  let done = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUNS)) {
    tokens += tokenizer.count(text.slice(done, index));
    for (let at = 0; at < run.length; at += MAX_RUN_LENGTH)
      tokens += tokenizer.count(run.slice(at, at + MAX_RUN_LENGTH));
    done = index + run.length;
  }
  return tokens + tokenizer.count(text.slice(done));
}

/** Counts the tokens of several texts, each by itself. */
export function countTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + countTokens(text), 0);
}

/** Counts with a bound on its work: beyond it, one token per four bytes is assumed. For the threads of a `BodyPool`. */
export function countBounded(count: () => number): number {
  tokenizer.stepsLeft = MAX_STEPS;
  try {
    return count();
  } finally {
    tokenizer.stepsLeft = Number.POSITIVE_INFINITY;
  }
}

/** The prompt of a request: a conversation in OpenAI's or Anthropic's format, and the tools it may use. */
export type PromptFields = {
  readonly messages: readonly unknown[];
  /** The texts or tokens of a request for embeddings, which has no messages. */
  readonly input?: unknown;
  /** The query and the documents of a request to rank them, which has no messages. */
  readonly query?: unknown;
  readonly documents?: unknown;
  /** The texts or tokens of a request for text completions, which has no messages, and the text after them. */
  readonly prompt?: unknown;
  readonly suffix?: unknown;
  readonly system?: unknown;
  readonly tools?: unknown;
  /** OpenAI's earlier form of tools. */
  readonly functions?: unknown;
};

/**
 * Counts the tokens of a whole prompt: of all its fields, so that no field of another kind of request makes it count
 * for less.
 */
export function countRequestTokens(fields: PromptFields): number {
  const { messages, system, tools, functions, input, query, documents, prompt, suffix } = fields;
  const conversation = system && messages ? [{ role: "system", content: system }, ...messages] : messages;
  return (
    (conversation ? countPromptTokens(conversation) : 0) +
    (tools ? countTokens(JSON.stringify(tools)) : 0) +
    (functions ? countTokens(JSON.stringify(functions)) : 0) +
    (Array.isArray(documents) ? countRankedTokens(query, documents) : 0) +
    countInputTokens(input) +
    countInputTokens(prompt) +
    countInputTokens(suffix)
  );
}

/** Counts the tokens of a text, of a list of tokens, or of a list of these. */
function countInputTokens(input: unknown): number {
  if (typeof input === "string") return countTokens(input);
  if (typeof input === "number") return 1;
  return Array.isArray(input) ? input.reduce<number>((sum, part) => sum + countInputTokens(part), 0) : 0;
}

/** Counts the tokens of documents, texts or objects with a `text`, each of which is read with the query. */
function countRankedTokens(query: unknown, documents: readonly unknown[]): number {
  const texts = documents.map((document) =>
    typeof document === "object" && document !== null && "text" in document ? document.text : document,
  );
  return documents.length * countInputTokens(query) + countInputTokens(texts);
}

/**
 * Counts the tokens of a conversation in OpenAI's format: roles, names, texts, tool calls, and a few for the framing.
 * An attachment counts as the usual number for its kind.
 */
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
  const attachment = attachmentOf(part);
  const attached = attachment ? ATTACHMENT_TOKENS[attachment.kind].usual : 0;
  const within = partsWithin(part);
  if (within.length > 0) return within.reduce<number>((sum, inner) => sum + countPart(inner), attached);
  if (typeof part === "object" && part !== null && "text" in part && typeof part.text === "string")
    return attached + countTokens(part.text);
  return attachment ? attached : countTokens(JSON.stringify(part) ?? "");
}
