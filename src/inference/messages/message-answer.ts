import { meterUsage, type UsageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "../chat/whole-answer.ts";
import type { Reading } from "../dispatch/reading.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import { readFinishReason } from "../requests/finish-reason.ts";
import type { MessagesRequest } from "./messages-request.ts";
import { isMessageCacheShown, messageUsage, readInputUsage, readOutputUsage } from "./messages-usage.ts";

/**
 * Validates a whole message and determines its billed usage: for each side the provider's count if it is valid,
 * otherwise our own. Throws a `ProviderFailure` for an invalid message, and the provider's reason when it blames the
 * request.
 */
export async function readMessage(
  answer: ProviderAnswer,
  request: Pick<MessagesRequest, "bytes"> & {
    readonly limits: UsageLimits;
    /** The model as the client named it, if the provider's name differs. */
    readonly model?: string | undefined;
  },
  bodies: Bodies,
): Promise<Reading> {
  const { bytes, limits, model } = request;
  const fields = await readAnswerObject(answer, bodies);
  const { type, content, stop_reason: reason, usage: stated } = fields;
  if (type !== "message" || !Array.isArray(content) || (content.length === 0 && typeof reason !== "string"))
    throw emptyAnswer("The provider's answer is not a message.");
  const input = readInputUsage(stated, limits.maxInputTokens);
  const outputTokens = readOutputUsage(stated, limits.maxOutputTokens);
  const count = {
    input: () => bodies.countRequest(bytes),
    uncounted: async () => (outputTokens === undefined ? bodies.countAnswer(answer.body, "message") : 0),
  };
  const metered = await meterUsage({ input, outputTokens }, count, limits);
  const isBilled = !metered.estimated && isMessageCacheShown(stated, metered.usage);
  const usage = isBilled ? undefined : messageUsage(metered.usage);
  const edits = await bodies.findEdits(answer.body, { members: { model, usage }, showsCost: true });
  return { ...metered, answerId: answerIdOf(fields), finishReason: readFinishReason(reason), edits };
}
