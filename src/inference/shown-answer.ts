import type { Trace } from "./admitted.ts";
import type { Provider } from "./provider.ts";
import { lacksReasoningContent, withReasoningContent } from "./reasoning.ts";
import { appendFields, requestedModel } from "./request-fields.ts";

/** A longer answer is not parsed on the event loop: it is shown as the provider wrote it. */
const MAX_REWRITTEN_BYTES = 262_144;
const REASONING = Buffer.from('"reasoning"');

/**
 * A whole answer as the client gets it: the provider's own bytes with the bill appended, written anew only where the
 * provider calls the model otherwise than the client, or tells its reasoning as `reasoning` alone.
 */
export function shownAnswer(body: Buffer, provider: Provider, trace: Trace): Buffer {
  const named = requestedModel(provider);
  const mayChange = named.model !== undefined || body.includes(REASONING);
  if (!mayChange || body.length > MAX_REWRITTEN_BYTES) return appendFields(body, { x_0g_trace: trace });
  const fields = JSON.parse(body.toString("utf8")) as Readonly<Record<string, unknown>>;
  const choices = Array.isArray(fields.choices) ? fields.choices : [];
  if (named.model === undefined && !choices.some(lacksReasoningContent))
    return appendFields(body, { x_0g_trace: trace });
  const shown = choices.length > 0 ? { choices: choices.map(withReasoningContent) } : {};
  return Buffer.from(JSON.stringify({ ...fields, ...named, ...shown, x_0g_trace: trace }));
}
