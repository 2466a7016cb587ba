import { AppError } from "../../kernel/errors.ts";
import { isStorable } from "../../kernel/text/storable.ts";
import type { Bodies } from "../body/body-pool.ts";
import { type ProviderAnswer, refusalOf, statedFailure } from "../providers/exchange/provider-answer.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";

const MAX_ANSWER_ID = 256;

/**
 * Reads a whole answer of status 200 as a JSON object; the strings of a long answer are truncated. Throws a
 * `ProviderFailure` for an invalid answer, the provider's reason when it blames the request, and `unavailable`.
 */
export async function readAnswerObject(
  answer: ProviderAnswer,
  bodies: Pick<Bodies, "parseAnswer">,
): Promise<Readonly<Record<string, unknown>>> {
  if (answer.status !== 200) throw refusalOf(answer, answer.body);
  if (!answer.contentType.includes("json")) throw emptyAnswer("The provider's answer is not JSON.");
  let object: unknown;
  try {
    object = await bodies.parseAnswer(answer.body);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw emptyAnswer("The provider's answer could not be read.", cause);
  }
  if (typeof object !== "object" || object === null || Array.isArray(object))
    throw emptyAnswer("The provider's answer is not an object.");
  const fields = object as Readonly<Record<string, unknown>>;
  if (fields.error !== undefined && fields.error !== null)
    throw statedFailure(fields.error, answer.providerUrl);
  return fields;
}

/** The provider's own id of its answer, if it has one. */
export function answerIdOf({ id }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof id === "string" && id.length <= MAX_ANSWER_ID && isStorable(id) ? id : undefined;
}

/** The failure of a provider whose answer is invalid. */
export function emptyAnswer(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message, cause });
}
