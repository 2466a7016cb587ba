import { answerText, carriesContent } from "./answer-text.ts";
import type { ChatRequest } from "./chat-request.ts";
import type { TokenUsage } from "./pricing.ts";
import { type ProviderAnswer, refusalOf, statedFailure } from "./provider-answer.ts";
import { ProviderFailure } from "./provider-failure.ts";
import { countTokens } from "./tokens.ts";
import { isPlausible, readUsage } from "./usage.ts";

/**
 * Judges a whole answer to a chat, and says what is billed: the provider's usage where it makes sense, else our own
 * count. Throws a `ProviderFailure` for what is no answer, and the provider's reason when it blames the request.
 */
export function readChat(
  answer: ProviderAnswer,
  { promptTokens, maxTokens, choices: asked }: Pick<ChatRequest, "promptTokens" | "maxTokens" | "choices">,
): { readonly usage: TokenUsage; readonly estimated: boolean } {
  if (answer.status !== 200) throw refusalOf(answer, answer.body);
  const { error, choices, usage: stated } = readObject(answer);
  if (error !== undefined && error !== null) throw statedFailure(error);
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isAnswer))
    throw malformed("The provider's answer is not a chat completion.");
  const usage = readUsage(stated);
  if (usage && isPlausible(usage, maxTokens === undefined ? undefined : maxTokens * asked))
    return { usage, estimated: false };
  const outputTokens = countTokens(choices.map(answerText).join(""));
  return { usage: { inputTokens: promptTokens, outputTokens }, estimated: true };
}

/** Content, or a reason why there is none, such as a filter. */
function isAnswer(choice: unknown): boolean {
  if (typeof choice !== "object" || choice === null || !("message" in choice)) return false;
  if (typeof choice.message !== "object" || choice.message === null) return false;
  return carriesContent(choice) || ("finish_reason" in choice && typeof choice.finish_reason === "string");
}

function readObject({ contentType, body }: ProviderAnswer): Readonly<Record<string, unknown>> {
  if (!contentType.includes("json")) throw malformed("The provider's answer is not JSON.");
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw malformed("The provider's answer could not be read.", cause);
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer))
    throw malformed("The provider's answer is not a chat completion.");
  return answer as Record<string, unknown>;
}

function malformed(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message, cause });
}
