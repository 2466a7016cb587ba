import { chatUsage, isCacheShown, meterUsage, readUsage, type UsageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import type { Reading } from "../dispatch/dispatch.service.ts";
import type { ProviderAnswer } from "../providers/provider-answer.ts";
import { carriesContent } from "./answer-text.ts";
import type { ChatRequest } from "./chat-request.ts";
import { lacksReasoningContent } from "./reasoning.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "./whole-answer.ts";

/**
 * Judges a whole answer to a chat, and says what is billed: of each side the provider's count where it makes sense, else our
 * own. Throws a `ProviderFailure` for what is no answer, also one with fewer choices than were requested, and the
 * provider's reason when it blames the request.
 */
export async function readChat(
  answer: ProviderAnswer,
  request: Pick<ChatRequest, "bytes" | "choices"> & {
    readonly limits: UsageLimits;
    /** The client's name of the model, where the provider calls it otherwise. */
    readonly model?: string | undefined;
  },
  bodies: Bodies,
): Promise<Reading> {
  const { bytes, limits, model } = request;
  const fields = await readAnswerObject(answer, bodies);
  const { choices, usage: stated } = fields;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isAnswer))
    throw emptyAnswer("The provider's answer is not a chat completion.");
  if (choices.length < request.choices) throw emptyAnswer("The provider's answer lacks choices.");
  const usage = readUsage(stated, limits);
  const count = {
    input: () => bodies.countRequest(bytes),
    uncounted: async () => (usage.outputTokens === undefined ? bodies.countAnswer(answer.body, "chat") : 0),
  };
  const metered = await meterUsage(usage, count, limits.maxOutputTokens);
  const isBilled = !metered.estimated && isCacheShown(stated, metered.usage);
  const edits = await bodies.findEdits(answer.body, {
    members: { model, usage: isBilled ? undefined : chatUsage(metered.usage) },
    lacksReasoning: choices.some(lacksReasoningContent),
  });
  return { ...metered, answerId: answerIdOf(fields), edits };
}

/** Content, or a reason why there is none, such as a filter. */
function isAnswer(choice: unknown): boolean {
  if (typeof choice !== "object" || choice === null || !("message" in choice)) return false;
  if (typeof choice.message !== "object" || choice.message === null) return false;
  return carriesContent(choice) || ("finish_reason" in choice && typeof choice.finish_reason === "string");
}
