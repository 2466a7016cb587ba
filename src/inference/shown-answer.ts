import type { Trace } from "./admitted.ts";
import { setMember } from "./json-member.ts";
import type { Provider } from "./provider.ts";
import { type ReasoningEdit, withEdits } from "./reasoning-edits.ts";
import { appendFields, requestedModel } from "./request-fields.ts";

/**
 * A whole answer as the client gets it: the provider's own bytes with the bill appended, the client's name of the model
 * where the provider calls it otherwise, `usage` in place of one that was not billed, and `reasoning_content` where the
 * provider states its reasoning as `reasoning` alone (`edits`).
 */
export function shownAnswer(
  body: Buffer,
  given: {
    readonly provider: Provider;
    readonly trace: Trace;
    readonly usage: object | undefined;
    readonly edits?: readonly ReasoningEdit[] | undefined;
  },
): Buffer {
  const { provider, trace, usage, edits = [] } = given;
  const { model } = requestedModel(provider);
  const edited = withEdits(body, edits);
  const named = model === undefined ? edited : setMember(edited, "model", model);
  const billed = usage === undefined ? named : setMember(named, "usage", usage);
  return appendFields(billed, { x_0g_trace: trace });
}
