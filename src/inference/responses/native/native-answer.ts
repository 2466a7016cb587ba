import { meterUsage } from "../../billing/usage.ts";
import type { Bodies } from "../../body/body-pool.ts";
import type { Fields } from "../../body/fields.ts";
import type { AnswerBounds } from "../../chat/answer-translation.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "../../chat/whole-answer.ts";
import type { Reading } from "../../dispatch/reading.ts";
import type { ProviderAnswer } from "../../providers/exchange/provider-answer.ts";
import { readFinishReason } from "../../requests/finish-reason.ts";
import { responseUsage } from "../response-object.ts";
import { fieldsOf } from "../said.ts";
import { isResponseCacheShown, readResponseUsage, statedReasoningTokens } from "./native-usage.ts";

/** The states of a response that has ended with an answer; a failed one has an `error`. */
const ENDED: ReadonlySet<unknown> = new Set(["completed", "incomplete"]);

/** What a response is billed by, and what a kept one is called; empty for any other. */
export type ResponseBounds = AnswerBounds & {
  readonly names: { readonly id?: string; readonly previous_response_id?: string | undefined };
};

/**
 * Validates a provider's own whole response and determines its billed usage: for each side the provider's count if it is
 * valid, otherwise our own. Throws a `ProviderFailure` for an invalid response, and the provider's reason when it blames
 * the request.
 */
export async function readNativeResponse(
  answer: ProviderAnswer,
  { limits, model, countInput, keep, names }: ResponseBounds,
  bodies: Bodies,
): Promise<Reading> {
  const fields = await readAnswerObject(answer, bodies);
  const { object, status, output, usage: stated } = fields;
  if (object !== "response" || !ENDED.has(status) || !Array.isArray(output))
    throw emptyAnswer("The provider's answer is not a response.");
  const usage = readResponseUsage(stated, limits);
  const count = {
    input: countInput,
    uncounted: async () =>
      usage.outputTokens === undefined ? bodies.countAnswer(answer.body, "response") : 0,
  };
  const metered = await meterUsage(usage, count, limits);
  const isBilled = !metered.estimated && isResponseCacheShown(stated, metered.usage);
  const answerId = answerIdOf(fields);
  if (names.id !== undefined) keep(requireId(answerId));
  const members = {
    ...names,
    model,
    usage: isBilled ? undefined : responseUsage(metered.usage, statedReasoningTokens(stated)),
  };
  const edits = await bodies.findEdits(answer.body, { members, showsCost: true });
  return { ...metered, answerId, finishReason: endOf(fields), edits };
}

/** Items of an output that ask the client to run a tool. */
const CALLS: ReadonlySet<unknown> = new Set([
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "apply_patch_call",
  "tool_search_call",
]);

/** Why a response has ended: the reason for which it is incomplete, `tool_calls` if it calls tools, or its status. */
export function endOf({ status, output, incomplete_details: incomplete }: Fields): string | undefined {
  const { reason } = fieldsOf(incomplete);
  const isCall = Array.isArray(output) && output.some((item) => CALLS.has(fieldsOf(item).type));
  return readFinishReason(reason ?? (isCall && status === "completed" ? "tool_calls" : status));
}

/** The provider's own id of a response that it keeps. Throws a `ProviderFailure` if it has none. */
export function requireId(id: string | undefined): string {
  if (id === undefined) throw emptyAnswer("The provider's response has no id.");
  return id;
}
