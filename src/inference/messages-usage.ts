import { z } from "zod";
import type { TokenUsage } from "./pricing.ts";

const count = z.int().min(0);
const detail = count.nullish().catch(0);
const Input = z.object({
  input_tokens: count,
  cache_read_input_tokens: detail,
  cache_creation_input_tokens: detail,
  cache_creation: z.object({ ephemeral_1h_input_tokens: detail }).nullish().catch(undefined),
});

/** What a question used, in Anthropic's terms. */
export type MessagesInput = Pick<TokenUsage, "inputTokens" | "cache">;

/**
 * The tokens of a question as the provider states them, or undefined when it states none or nonsense. Anthropic counts
 * what was read from or written to a cache apart; here they are a part of the input.
 */
export function readInputUsage(stated: unknown): MessagesInput | undefined {
  const result = Input.safeParse(stated);
  if (!result.success) return undefined;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation } = result.data;
  const read = cache_read_input_tokens ?? 0;
  const written = cache_creation_input_tokens ?? 0;
  const write1h = Math.min(written, cache_creation?.ephemeral_1h_input_tokens ?? 0);
  const inputTokens = input_tokens + read + written;
  if (!Number.isSafeInteger(inputTokens)) return undefined;
  const cache = read + written > 0 ? { cache: { read, write: written - write1h, write1h } } : {};
  return { inputTokens, ...cache };
}

/** The tokens of an answer as the provider states them, if so many were possible. */
export function readOutputUsage(stated: unknown, maxTokens: number): number | undefined {
  const tokens = z.object({ output_tokens: count.max(maxTokens) }).safeParse(stated).data;
  return tokens?.output_tokens;
}
