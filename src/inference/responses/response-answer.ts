import type { TokenUsage } from "../billing/pricing.ts";
import { parseJson } from "../body/outline.ts";
import { OutputItems } from "./output-items.ts";
import {
  endFailureOf,
  incompleteReasonOf,
  type ResponseHead,
  type ResponseState,
  reasoningTokensOf,
  responseJson,
  responseUsage,
} from "./response-object.ts";
import { fieldsOf, saidBy } from "./said.ts";

/** A whole response: its head, when it ended (Unix time in seconds), and what is billed. */
export type WholeResponse = {
  readonly head: ResponseHead;
  readonly completedAt: number;
  readonly usage: TokenUsage;
};

/** Translates a valid chat completion to a response. An answer of many MiB takes seconds: see `BodyPool`. */
export function responseOfChat(completion: Buffer, { head, completedAt, usage }: WholeResponse): Buffer {
  const { choices, usage: stated } = fieldsOf(parseJson(completion));
  const [choice] = Array.isArray(choices) ? choices : [];
  const items = new OutputItems(outputOptions(head));
  items.take(saidBy(choice));
  const json = responseJson(head, {
    ...endOf(fieldsOf(choice).finish_reason, items, completedAt),
    usage: responseUsage(usage, reasoningTokensOf(stated)),
  });
  return Buffer.from(json);
}

/** How a response ended, and its output. */
function endOf(finishReason: unknown, items: OutputItems, completedAt: number): ResponseState {
  const failure = endFailureOf(finishReason);
  if (failure) {
    const { code, message } = failure;
    return { status: "failed", output: items.shown(true), error: { code, message } };
  }
  const incompleteReason = incompleteReasonOf(finishReason);
  if (incompleteReason !== undefined)
    return { status: "incomplete", output: items.shown(true), incompleteReason };
  return { status: "completed", output: items.shown(false), completedAt };
}

/** How the output of a response is built. */
export function outputOptions({ id, hasSummary, functions }: ResponseHead) {
  return { suffix: `${id.replace(/^resp_/, "")}_`, hasSummary, functions };
}
