import { type ElidedTexts, serialized } from "../body/elided-text.ts";
import type { Tool } from "./response-tools.ts";
import type { ResponsesFields } from "./responses-schema.ts";

/** A response repeats the request's instructions and tools up to this length: a stream does so three times. */
const MAX_REPEATED_BYTES = 262_144;

/** What the types of OpenAI's clients require of a response besides its answer, and its length if it is not shortened. */
export function repeatedFields(
  request: ResponsesFields,
  tools: readonly Tool[],
  elided: ElidedTexts | undefined,
): { readonly repeated: string; readonly lengthBytes: number } {
  const { instructions = null, reasoning, text, metadata, temperature, top_p, top_logprobs } = request;
  const settings = {
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    store: false,
    background: false,
    temperature: temperature ?? 1,
    text: { ...text, format: text?.format ?? { type: "text" } },
    tool_choice: request.tool_choice ?? "auto",
    top_logprobs: top_logprobs ?? 0,
    top_p: top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    truncation: "disabled",
    service_tier: "default",
    user: request.user ?? null,
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
  };
  const whole = serialized({ instructions, tools, ...settings }, elided);
  const lengthBytes = lengthOf(whole);
  if (lengthBytes <= MAX_REPEATED_BYTES) return { repeated: Buffer.concat(whole).toString(), lengthBytes };
  const { text: _, tool_choice: __, ...short } = settings;
  const repeated = JSON.stringify({
    ...{ instructions: null, tools: [], tool_choice: "auto", text: { format: { type: "text" } } },
    ...short,
  });
  return { repeated, lengthBytes };
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
