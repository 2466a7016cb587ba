import { z } from "zod";
import type { CacheTokens, TokenUsage } from "./pricing.ts";

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
  total_tokens: count.nullish(),
  prompt_tokens_details: Details.optional().catch(undefined),
  completion_tokens_details: z.object({ reasoning_tokens: detail }).optional().catch(undefined),
});

/**
 * The usage that a provider states, or undefined when it states none or nonsense (promises F27): each count must be
 * an integer of 0 to 2^53 - 1, and a sum the sum. A stated zero is a zero. What it says of its cache counts where it makes sense.
 */
export function readUsage(stated: unknown): TokenUsage | undefined {
  const result = Usage.safeParse(stated);
  if (!result.success) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details: cache } = result.data;
  if (!isSum(result.data)) return undefined;
  const isPart = cache !== undefined && isPartOf(prompt_tokens, cache);
  return { inputTokens: prompt_tokens, outputTokens: completion_tokens, ...(isPart && { cache }) };
}

/** Whether a question of so many tokens can have had so many to do with a cache. */
function isPartOf(inputTokens: number, { read, write, write1h }: CacheTokens): boolean {
  return read + write + write1h <= inputTokens;
}

/** Whether an answer can have had so many tokens, the client having asked for at most so many. */
export function isPlausible({ outputTokens }: TokenUsage, mostOutputTokens: number | undefined): boolean {
  return mostOutputTokens === undefined || outputTokens <= mostOutputTokens;
}

/** Some count what a model thinks apart from what it says. */
function isSum(usage: z.output<typeof Usage>): boolean {
  const { prompt_tokens, completion_tokens, total_tokens } = usage;
  const sum = prompt_tokens + completion_tokens;
  const thought = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  return total_tokens == null || total_tokens === sum || total_tokens === sum + thought;
}
