import { AppError } from "../../kernel/errors.ts";
import { chatUsage, isAsBilled, meterUsage, readUsage, type UsageLimits } from "../billing/usage.ts";
import type { Bodies } from "../body/body-pool.ts";
import type { Reading } from "../dispatch/reading.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import { readFinishReason } from "../requests/finish-reason.ts";
import { carriesContent } from "./answer-text.ts";
import type { AnswerTranslation } from "./answer-translation.ts";
import type { ChatRequest } from "./chat-request.ts";
import { lacksReasoningContent } from "./reasoning.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "./whole-answer.ts";

/**
 * Validates a whole chat answer and determines its billed usage: for each side the provider's count if it is valid,
 * otherwise our own. Throws a `ProviderFailure` for an invalid answer, including one with fewer choices than requested,
 * and the provider's reason when it blames the request.
 */
export async function readChat(
  answer: ProviderAnswer,
  request: Pick<ChatRequest, "bytes" | "choices"> & {
    readonly limits: UsageLimits;
    /** The model as the client named it, if the provider's name differs. */
    readonly model?: string | undefined;
    /** The model that answered. */
    readonly answered: string;
    /** The member of a choice with its answer. */
    readonly whole: "message" | "text";
    readonly translation?: AnswerTranslation | undefined;
  },
  bodies: Bodies,
): Promise<Reading> {
  const { bytes, limits, model, answered, whole, translation } = request;
  const fields = await readAnswerObject(answer, bodies);
  const { choices, usage: stated } = fields;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every((choice) => isAnswer(choice, whole)))
    throw emptyAnswer("The provider's answer is not a completion.");
  if (choices.length < request.choices) throw emptyAnswer("The provider's answer lacks choices.");
  const usage = readUsage(stated, limits);
  const count = {
    input: () => bodies.countRequest(bytes),
    uncounted: async () => (usage.outputTokens === undefined ? bodies.countAnswer(answer.body, "chat") : 0),
  };
  const metered = await meterUsage(usage, count, limits);
  const known = { answerId: answerIdOf(fields), finishReason: reasonOf(choices) };
  if (translation) {
    const body = await translation.whole(answer.body, metered.usage, answered).catch((cause) => {
      // A thread does not return the class of an error.
      if (cause instanceof ProviderFailure || (cause instanceof AppError && cause.code === "unavailable"))
        throw cause;
      throw emptyAnswer("The provider's answer could not be read.", cause);
    });
    return {
      ...metered,
      ...known,
      body,
      edits: await bodies.findEdits(body, { members: {}, showsCost: true }),
    };
  }
  const isBilled = !metered.estimated && isAsBilled(stated, metered.usage);
  const edits = await bodies.findEdits(answer.body, {
    members: { model, usage: isBilled ? undefined : chatUsage(metered.usage) },
    showsCost: true,
    lacksReasoning: choices.some(lacksReasoningContent),
  });
  return { ...metered, ...known, edits };
}

/** The reason of the choice of index 0. */
function reasonOf(choices: readonly { readonly index?: unknown; readonly finish_reason?: unknown }[]) {
  const choice = choices.find(({ index }) => index === 0) ?? choices[0];
  return readFinishReason(choice?.finish_reason);
}

/** Whether a choice has content in this member, or a reason why it has none, such as a filter. */
function isAnswer(choice: unknown, whole: "message" | "text"): boolean {
  if (typeof choice !== "object" || choice === null) return false;
  const { [whole]: answer } = choice as Readonly<Record<string, unknown>>;
  const isRead =
    whole === "text" ? typeof answer === "string" : typeof answer === "object" && answer !== null;
  if (!isRead) return false;
  return carriesContent(choice) || ("finish_reason" in choice && typeof choice.finish_reason === "string");
}
