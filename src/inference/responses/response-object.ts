import { exactJson } from "../../kernel/text/exact-json.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { Trace } from "../billing/trace.ts";
import { shownCache } from "../billing/usage.ts";
import { nameFinishReason, readFinishReason } from "../requests/finish-reason.ts";
import type { FunctionNames } from "./function-names.ts";
import { fieldsOf } from "./said.ts";
import { INTERRUPTED, type StreamError } from "./stream-error.ts";

/** What a response has before its answer begins. */
export type ResponseHead = {
  readonly id: string;
  readonly model: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
  /** Whether reasoning is shown as a summary. */
  readonly hasSummary: boolean;
  /** The functions whose names in the chat are not the client's. */
  readonly functions: FunctionNames;
  /** The members that repeat the request, as a JSON object. */
  readonly repeated: string;
};

/** The state of a response: its output so far, and how it ended. */
export type ResponseState = {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output?: readonly object[];
  /** Unix time in seconds. */
  readonly completedAt?: number;
  readonly incompleteReason?: string | undefined;
  readonly error?: { readonly code: string; readonly message: string };
  readonly usage?: object;
  readonly trace?: Trace;
};

/** A response in OpenAI's format, as JSON. */
export function responseJson({ id, model, createdAt, repeated }: ResponseHead, state: ResponseState): string {
  const { status, output = [], completedAt, incompleteReason, error, usage, trace } = state;
  const response = {
    id,
    object: "response",
    created_at: createdAt,
    completed_at: completedAt ?? null,
    status,
    error: error ?? null,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    model,
    output,
    usage: usage ?? null,
    ...(trace && { x_0g_trace: trace }),
  };
  return `${exactJson(response).slice(0, -1)},${repeated.slice(1)}`;
}

/** Why a response is incomplete, from the finish reason of the chat; undefined if it is complete. */
export function incompleteReasonOf(finishReason: unknown): string | undefined {
  const name = nameFinishReason(readFinishReason(finishReason));
  if (name === "length") return "max_output_tokens";
  return name === "content_filter" ? name : undefined;
}

/** The failure of a response whose provider states, as the reason of its end, that it failed; undefined for another end. */
export function endFailureOf(finishReason: unknown): StreamError | undefined {
  return nameFinishReason(readFinishReason(finishReason)) === "error" ? INTERRUPTED : undefined;
}

/** The billed usage in the format of a response; `reasoningTokens` is what the provider reported. */
export function responseUsage({ inputTokens, outputTokens, cache }: TokenUsage, reasoningTokens: number) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      ...{ cached_tokens: 0, cache_write_tokens: 0 },
      ...(cache && shownCache(cache)),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: Math.min(reasoningTokens, outputTokens) },
    total_tokens: inputTokens + outputTokens,
  };
}

/** The tokens of reasoning in a provider's usage; 0 if it reports none. */
export function reasoningTokensOf(usage: unknown): number {
  const { reasoning_tokens: tokens } = fieldsOf(fieldsOf(usage).completion_tokens_details);
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0;
}
