import { ATTACHMENT_TOKENS, type Attachment, attachmentOf, partsWithin } from "../body/attachments.ts";
import { inputTokensAt, type Provider } from "../providers/provider.ts";
import { estimatedTokens } from "./estimated-tokens.ts";
import { type Quote, quoteChat } from "./pricing.ts";
import type { PromptFields } from "./tokens.ts";

/** Tokens that a provider's template may add to a prompt, such as instructions for tool calls. */
const TEMPLATE_TOKENS = 256;

/** Counting a body of this size takes at most 7 ms, 0.2 ms for English. */
const SHORT_BYTES = 4_096;

/** The maximum tokens of a prompt, and the likely number, which is used to compare prices. */
export type PromptBound = {
  readonly maxTokens: number;
  readonly likelyTokens: number;
  /** Whether the prompt is text only and quick to count: then the hold covers only the count. */
  readonly isShort: boolean;
};

/**
 * Bounds the tokens of a prompt without tokenizing it: every token is at least one byte of the body, and an attachment
 * has at most the maximum of its kind. `bytes` is the whole JSON body that `fields` were read from. The exact count,
 * a tenth of the processing cost of a short chat, is only made for keys that are short of money.
 */
export function boundPrompt(fields: PromptFields, bytes: Pick<Buffer, "length">): PromptBound {
  const attachments = attachmentsOf(fields);
  const text = bytes.length - sum(attachments, ({ length }) => length);
  return {
    maxTokens: text + TEMPLATE_TOKENS + sum(attachments, ({ kind }) => ATTACHMENT_TOKENS[kind].most),
    likelyTokens: estimatedTokens(text) + sum(attachments, ({ kind }) => ATTACHMENT_TOKENS[kind].usual),
    isShort: bytes.length <= SHORT_BYTES && attachments.length === 0,
  };
}

/** A prompt and its answer, as quoted. */
export type QuotedChat = {
  readonly prompt: PromptBound;
  /** Our exact count of the prompt tokens, once made. */
  readonly counted?: number | undefined;
  /** The number of separate prompts that `prompt` bounds together, by default 1. */
  readonly prompts?: number;
  readonly maxTokens: number | undefined;
  readonly modelLimit: number;
  readonly choices: number;
};

/**
 * The hold for a chat with this provider: enough for the bound of its prompt. With a counted prompt, an account with
 * less than that is held for its balance, at least for the count; a short text is held for the count only.
 */
export function quotePrompt({ prompt, counted, prompts, ...size }: QuotedChat, provider: Provider): Quote {
  const promptTokens = inputTokensAt(provider, prompt.maxTokens, prompts);
  const bound = quoteChat({ ...size, promptTokens }, provider);
  if (counted === undefined) return bound;
  const exact = quoteChat({ ...size, promptTokens: counted }, provider);
  if (prompt.isShort) return exact;
  const { minimum } = exact;
  return { minimum, maximum: bound.maximum > minimum ? bound.maximum : minimum };
}

/** The prompt tokens used to limit the answer: our count if there is one, otherwise the bound. */
export function promptTokensOf({ prompt, counted }: QuotedChat, provider: Provider): number {
  return counted ?? inputTokensAt(provider, prompt.maxTokens);
}

function attachmentsOf({ messages, system }: PromptFields): readonly Attachment[] {
  const found: Attachment[] = [];
  const lookIn = (part: unknown) => {
    const attachment = attachmentOf(part);
    if (attachment) found.push(attachment);
    for (const inner of partsWithin(part)) lookIn(inner);
  };
  for (const message of messages) lookIn(message);
  lookIn({ content: system });
  return found;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
