import { boundPrompt, type PromptBound } from "../billing/prompt-bound.ts";

/**
 * Assumed tokens of an answer without a client limit, used only to compare prices: about the mean of public chat logs
 * (WildChat 441 tokens, LMSYS-Chat-1M 215).
 */
const USUAL_ANSWER_TOKENS = 400;

/** The size by which the providers of a chat are ranked: the tokens of its prompt and answer. */
export type LikelySize = {
  readonly inputTokens?: number | undefined;
  readonly outputTokens: number;
  /** The client's limit on the answer, if it sets one. */
  readonly answerTokens?: number | undefined;
};

/** The known parameters of a chat before it is sent. */
export type PlannedChat = {
  readonly prompt?: Pick<PromptBound, "likelyTokens"> | undefined;
  readonly maxTokens?: number | undefined;
  readonly choices?: number;
};

/** The likely size of a chat; `modelLimit` applies to an answer without a client limit. */
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

/** A planned chat with these messages, measured as its request would be. */
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
