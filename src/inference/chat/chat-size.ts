import { boundPrompt, type PromptBound } from "../billing/prompt-bound.ts";

/**
 * What an answer is taken to have when the client sets no limit, only to compare prices: about the mean of the public
 * logs of chats (WildChat 441 tokens, LMSYS-Chat-1M 215).
 */
const USUAL_ANSWER_TOKENS = 400;

/** What providers of a chat are ranked by: the tokens of its prompt, and of its answer. */
export type LikelySize = {
  readonly inputTokens?: number | undefined;
  readonly outputTokens: number;
  /** The limit of the answer, where the client sets one. */
  readonly answerTokens?: number | undefined;
};

/** What is known of a chat before it is sent. */
export type PlannedChat = {
  readonly prompt?: Pick<PromptBound, "likelyTokens"> | undefined;
  readonly maxTokens?: number | undefined;
  readonly choices?: number;
};

/** The size that a chat probably has; `modelLimit` limits an answer for which the client sets no limit. */
export function likelySize(
  { prompt, maxTokens, choices = 1 }: PlannedChat,
  modelLimit: number,
  counted?: number,
): LikelySize {
  return {
    inputTokens: counted ?? prompt?.likelyTokens,
    outputTokens: (maxTokens ?? Math.min(USUAL_ANSWER_TOKENS, modelLimit)) * choices,
    answerTokens: maxTokens,
  };
}

/** A chat of these messages, as its request would be measured. */
export function plannedChat({
  messages,
  maxTokens,
  choices,
}: {
  readonly messages?: readonly object[] | undefined;
  readonly maxTokens?: number | undefined;
  readonly choices?: number | undefined;
}): PlannedChat {
  const fields = messages && { messages };
  const prompt = fields && boundPrompt(fields, Buffer.from(JSON.stringify(fields)));
  return { prompt, maxTokens, ...(choices !== undefined && { choices }) };
}
