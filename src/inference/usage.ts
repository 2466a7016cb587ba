import { z } from "zod";
import type { TokenUsage } from "./pricing.ts";

const count = z.int().min(0);
const Usage = z.object({ prompt_tokens: count, completion_tokens: count });

/**
 * The usage that a provider states, or undefined when it states none or nonsense (promises F27): each count must be
 * an integer of 0 to 2^53 - 1. A stated zero is a zero.
 */
export function readUsage(stated: unknown): TokenUsage | undefined {
  const result = Usage.safeParse(stated);
  if (!result.success) return undefined;
  return { inputTokens: result.data.prompt_tokens, outputTokens: result.data.completion_tokens };
}
