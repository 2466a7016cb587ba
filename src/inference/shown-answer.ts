import type { Trace } from "./admitted.ts";
import { setMember } from "./json-member.ts";
import type { Provider } from "./provider.ts";
import { lacksReasoningContent, withReasoningContent } from "./reasoning.ts";
import { appendFields, requestedModel } from "./request-fields.ts";

/** A longer answer is not parsed on the event loop: its reasoning is shown as the provider wrote it. */
const MAX_REWRITTEN_BYTES = 262_144;
const REASONING = Buffer.from('"reasoning"');

/**
 * A whole answer as the client gets it: the provider's own bytes with the bill appended, the client's name of the model
 * where the provider calls it otherwise, and `usage` in place of one that was not billed. Written anew only where the
 * provider tells its reasoning as `reasoning` alone.
 */
export function shownAnswer(
  body: Buffer,
  given: { readonly provider: Provider; readonly trace: Trace; readonly usage: object | undefined },
): Buffer {
  const { provider, trace, usage } = given;
  const { model } = requestedModel(provider);
  const named = model === undefined ? body : setMember(body, "model", model);
  const billed = usage === undefined ? named : setMember(named, "usage", usage);
  return appendFields(withReasoning(billed), { x_0g_trace: trace });
}

function withReasoning(body: Buffer): Buffer {
  if (body.length > MAX_REWRITTEN_BYTES || !body.includes(REASONING)) return body;
  const { choices, ...fields } = JSON.parse(body.toString("utf8")) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(choices) || !choices.some(lacksReasoningContent)) return body;
  return Buffer.from(JSON.stringify({ ...fields, choices: choices.map(withReasoningContent) }));
}
