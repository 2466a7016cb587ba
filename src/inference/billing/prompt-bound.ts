import { ATTACHMENT_TOKENS, type Attachment, attachmentOf, partsWithin } from "../body/attachments.ts";
import { inputTokensAt, type Provider } from "../providers/provider.ts";
import { type Quote, quoteChat } from "./pricing.ts";
import type { PromptFields } from "./tokens.ts";

/** What a provider's template may add to a prompt, such as how tools are called. */
const TEMPLATE_TOKENS = 256;
/** Of English text and of JSON, by the usual vocabularies. */
const BYTES_PER_TOKEN = 4;

/** A body of so many bytes is counted in at most 7 ms, English in 0.2 ms. */
const SHORT_BYTES = 4_096;

/** The most tokens that a prompt can have, and how many it probably has, for a comparison of prices. */
export type PromptBound = {
  readonly maxTokens: number;
  readonly likelyTokens: number;
  /** Whether it is text alone and quickly counted: then the count is held and no more. */
  readonly isShort: boolean;
};

/**
 * Bounds the tokens of a prompt without tokenizing it: every token is at least a byte of the body, and an attachment has
 * at most what its kind may have. `bytes` is the whole JSON body, of which `fields` were read. The exact count, a tenth
 * of what a short chat costs this process, is only made for keys that are short of money.
 */
export function boundPrompt(fields: PromptFields, bytes: Buffer): PromptBound {
  const attachments = attachmentsOf(fields);
  const text = bytes.length - sum(attachments, ({ length }) => length);
  return {
    maxTokens: text + TEMPLATE_TOKENS + sum(attachments, ({ kind }) => ATTACHMENT_TOKENS[kind].most),
    likelyTokens:
      Math.ceil(text / BYTES_PER_TOKEN) + sum(attachments, ({ kind }) => ATTACHMENT_TOKENS[kind].usual),
    isShort: bytes.length <= SHORT_BYTES && attachments.length === 0,
  };
}

/** A question and its answer, as they are quoted. */
export type QuotedChat = {
  readonly prompt: PromptBound;
  /** The tokens of the prompt by our exact count, once it was made. */
  readonly counted?: number | undefined;
  readonly maxTokens: number | undefined;
  readonly modelLimit: number;
  readonly choices: number;
};

/**
 * What is held for a chat with this provider: enough for the bound of its prompt. Once the prompt was counted, an
 * account that has less than that is held for what it has, at the least for the count, and of a short text for the count.
 */
export function quotePrompt({ prompt, counted, ...size }: QuotedChat, provider: Provider): Quote {
  const bound = quoteChat({ ...size, promptTokens: inputTokensAt(provider, prompt.maxTokens) }, provider);
  if (counted === undefined) return bound;
  const exact = quoteChat({ ...size, promptTokens: counted }, provider);
  if (prompt.isShort) return exact;
  const { minimum } = exact;
  return { minimum, maximum: bound.maximum > minimum ? bound.maximum : minimum };
}

/** The tokens of the prompt that the answer is limited by: our count, or the bound while there is none. */
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
