import { z } from "zod";
import type { TokenUsage } from "../billing/pricing.ts";
import { type InputUsage, isShown } from "../billing/usage.ts";

const count = z.int().min(0);
const detail = count.nullish().catch(0);
const Input = z.object({
  input_tokens: count,
  cache_read_input_tokens: detail,
  cache_creation_input_tokens: detail,
  cache_creation: z.object({ ephemeral_1h_input_tokens: detail }).nullish().catch(undefined),
});

/**
 * Reads the prompt tokens that the provider reports; undefined if missing or invalid. Anthropic counts tokens read from
 * or written to a cache separately; here they are part of the input.
 */
export function readInputUsage(stated: unknown, maxTokens: number): InputUsage | undefined {
  const result = Input.safeParse(stated);
  if (!result.success) return undefined;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation } = result.data;
  const read = cache_read_input_tokens ?? 0;
  const written = cache_creation_input_tokens ?? 0;
  const write1h = Math.min(written, cache_creation?.ephemeral_1h_input_tokens ?? 0);
  const inputTokens = input_tokens + read + written;
  if (inputTokens > maxTokens) return undefined;
  const cache = read + written > 0 ? { cache: { read, write: written - write1h, write1h } } : {};
  return { inputTokens, ...cache };
}

/** The answer tokens that the provider reports, if they are within the limit. */
export function readOutputUsage(stated: unknown, maxTokens: number): number | undefined {
  const tokens = z.object({ output_tokens: count.max(maxTokens) }).safeParse(stated).data;
  return tokens?.output_tokens;
}

/** Whether the cache counts in a provider's usage, if any, equal the billed ones. */
export function isMessageCacheShown(stated: unknown, billed: Pick<InputUsage, "cache"> | undefined): boolean {
  const { read = 0, write = 0, write1h = 0 } = billed?.cache ?? {};
  const { cache_creation: created } = (stated ?? {}) as { readonly cache_creation?: unknown };
  return (
    isShown(stated, "cache_read_input_tokens", read) &&
    isShown(stated, "cache_creation_input_tokens", write + write1h) &&
    isShown(created, "ephemeral_5m_input_tokens", write) &&
    isShown(created, "ephemeral_1h_input_tokens", write1h)
  );
}

/** A provider's usage with the billed cache counts. */
export function withBilledCache(
  stated: Readonly<Record<string, unknown>>,
  billed: Pick<InputUsage, "cache"> | undefined,
) {
  const { read = 0, write = 0, write1h = 0 } = billed?.cache ?? {};
  const { cache_creation: _, ...usage } = stated;
  return { ...usage, cache_read_input_tokens: read, cache_creation_input_tokens: write + write1h };
}

/** Usage in Anthropic's format, shown to the client where the provider's own is not what is billed. */
export function messageUsage({ inputTokens, outputTokens, cache }: TokenUsage) {
  const { read = 0, write = 0, write1h = 0 } = cache ?? {};
  return {
    input_tokens: inputTokens - read - write - write1h,
    output_tokens: outputTokens,
    ...(cache && { cache_read_input_tokens: read, cache_creation_input_tokens: write + write1h }),
  };
}
