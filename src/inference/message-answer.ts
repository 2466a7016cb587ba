import type { Bodies } from "./body-pool.ts";
import type { Reading } from "./exchange.service.ts";
import type { MessagesRequest } from "./messages-request.ts";
import { readInputUsage, readOutputUsage } from "./messages-usage.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import { answerIdOf, noAnswer, readAnswerObject } from "./whole-answer.ts";

/**
 * Judges a whole message, and says what is billed: the provider's usage where it makes sense, else our own count.
 * Throws a `ProviderFailure` for what is no message, and the provider's reason when it blames the request.
 */
export async function readMessage(
  answer: ProviderAnswer,
  { bytes, maxTokens }: Pick<MessagesRequest, "bytes" | "maxTokens">,
  bodies: Bodies,
): Promise<Reading> {
  const fields = await readAnswerObject(answer, bodies);
  const { type, content, stop_reason: reason, usage: stated } = fields;
  if (type !== "message" || !Array.isArray(content) || (content.length === 0 && typeof reason !== "string"))
    throw noAnswer("The provider's answer is not a message.");
  const input = readInputUsage(stated);
  const outputTokens = readOutputUsage(stated, maxTokens);
  const answerId = answerIdOf(fields);
  if (input && outputTokens !== undefined)
    return { usage: { ...input, outputTokens }, estimated: false, answerId };
  const [inputTokens, counted] = await Promise.all([
    bodies.countRequest(bytes),
    bodies.countAnswer(answer.body, "message"),
  ]);
  return { usage: { inputTokens, outputTokens: counted }, estimated: true, answerId };
}
