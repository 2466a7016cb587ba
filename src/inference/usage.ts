import { z } from "zod";
import type { TokenUsage } from "./pricing.ts";

const count = z.int().min(0);
const detail = count.catch(0);
const Details = z
  .object({ cached_tokens: detail, cache_write_tokens: detail, cache_write_1h_tokens: detail })
  .transform((stated) => ({
    read: stated.cached_tokens,
    write: stated.cache_write_tokens,
    write1h: stated.cache_write_1h_tokens,
  }));
const Usage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: Details.optional().catch(undefined),
});

/**
 * The usage that a provider states, or undefined when it states none or nonsense (promises F27): each count must be
 * an integer of 0 to 2^53 - 1. A stated zero is a zero. What it says of its cache is noted where it makes sense.
 */
export function readUsage(stated: unknown): TokenUsage | undefined {
  const result = Usage.safeParse(stated);
  if (!result.success) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details: cache } = result.data;
  return { inputTokens: prompt_tokens, outputTokens: completion_tokens, ...(cache && { cache }) };
}
