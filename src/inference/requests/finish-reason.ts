import { isStorable } from "../../kernel/text/storable.ts";

/** OpenRouter's names of why an answer ended: OpenAI's, and `error`. */
export const FINISH_REASONS = ["stop", "length", "tool_calls", "content_filter", "error"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

const MAX_REASON_LENGTH = 64;

/** What providers state in place of them: Anthropic's reasons, those of OpenAI's responses, Mistral's, and OpenAI's legacy one. */
const NATIVE_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  completed: "stop",
  max_tokens: "length",
  max_output_tokens: "length",
  model_context_window_exceeded: "length",
  model_length: "length",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  refusal: "content_filter",
};
const KNOWN: ReadonlyMap<string, FinishReason> = new Map([
  ...FINISH_REASONS.map((reason) => [reason, reason] as const),
  ...Object.entries(NATIVE_REASONS),
]);

/** A provider's own reason for the end of an answer; undefined for a value that is none, or cannot be stored. */
export function readFinishReason(value: unknown): string | undefined {
  const isReason = typeof value === "string" && value !== "" && value.length <= MAX_REASON_LENGTH;
  return isReason && isStorable(value) ? value : undefined;
}

/** The name of a provider's reason; undefined for an unknown one. */
export function nameFinishReason(native: string | undefined): FinishReason | undefined {
  return native === undefined ? undefined : KNOWN.get(native);
}
