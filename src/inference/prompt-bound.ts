import { ATTACHMENT_TOKENS, type Attachment, attachmentOf, partsWithin } from "./attachments.ts";
import { type Quote, quoteChat } from "./pricing.ts";
import { inputTokensAt, type Provider } from "./provider.ts";
import { countRequestTokens, type PromptFields } from "./tokens.ts";

/** A body of so many bytes is counted exactly at once: at most 7 ms, 0.2 ms for English. */
const MAX_COUNTED_BYTES = 4_096;
/** What a provider's template may add to a prompt, such as how tools are called. */
const TEMPLATE_TOKENS = 256;

/** The most tokens that a prompt can have, and whether that is our exact count. */
export type PromptBound = { readonly maxTokens: number; readonly isExact: boolean };

/**
 * Bounds the tokens of a prompt without tokenizing a long one: every token is at least a byte of the body, and an
 * attachment has at most what its kind may have. `bytes` is the whole JSON body, of which `fields` were read. Short
 * bodies are counted exactly, so that a small balance is not refused for a margin.
 */
export function boundPrompt(fields: PromptFields, bytes: Buffer): PromptBound {
  const attachments = attachmentsOf(fields);
  if (bytes.length <= MAX_COUNTED_BYTES) {
    const counted = countRequestTokens(fields);
    const margin = sum(
      attachments,
      ({ kind }) => ATTACHMENT_TOKENS[kind].most - ATTACHMENT_TOKENS[kind].usual,
    );
    return { maxTokens: counted + margin, isExact: attachments.length === 0 };
  }
  const text = bytes.length - sum(attachments, ({ length }) => length);
  const attached = sum(attachments, ({ kind }) => ATTACHMENT_TOKENS[kind].most);
  return { maxTokens: text + attached + TEMPLATE_TOKENS, isExact: false };
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
 * account that has less than that is held for what it has, at the least for the count.
 */
export function quotePrompt({ prompt, counted, ...size }: QuotedChat, provider: Provider): Quote {
  const bound = quoteChat({ ...size, promptTokens: inputTokensAt(provider, prompt.maxTokens) }, provider);
  if (counted === undefined) return bound;
  const { minimum } = quoteChat({ ...size, promptTokens: counted }, provider);
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
