import { type ProviderAnswer, refusalOf, statedFailure } from "./provider-answer.ts";
import { ProviderFailure } from "./provider-failure.ts";

/**
 * Reads a whole answer of status 200 as a JSON object. Throws a `ProviderFailure` for what is none, and the provider's
 * reason when it blames the request.
 */
export function readAnswerObject(answer: ProviderAnswer): Readonly<Record<string, unknown>> {
  if (answer.status !== 200) throw refusalOf(answer, answer.body);
  if (!answer.contentType.includes("json")) throw noAnswer("The provider's answer is not JSON.");
  let object: unknown;
  try {
    object = JSON.parse(answer.body.toString("utf8"));
  } catch (cause) {
    throw noAnswer("The provider's answer could not be read.", cause);
  }
  if (typeof object !== "object" || object === null || Array.isArray(object))
    throw noAnswer("The provider's answer is not an object.");
  const fields = object as Readonly<Record<string, unknown>>;
  if (fields.error !== undefined && fields.error !== null) throw statedFailure(fields.error);
  return fields;
}

/** The failure of a provider whose answer is none. */
export function noAnswer(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message, cause });
}
