import type { TokenUsage } from "../../billing/pricing.ts";
import { isCacheShown, readUsage, type StatedUsage, type UsageLimits } from "../../billing/usage.ts";
import { fieldsOf } from "../said.ts";

/** Reads the usage of a provider's response, whose members have other names than those of a chat, like `readUsage`. */
export function readResponseUsage(stated: unknown, limits: UsageLimits): StatedUsage {
  return readUsage(toChatNames(stated), limits);
}

/** Whether the cache counts in a provider's usage, if any, equal the billed ones. */
export function isResponseCacheShown(stated: unknown, billed: Pick<TokenUsage, "cache">): boolean {
  return isCacheShown(toChatNames(stated), billed);
}

/** The tokens of reasoning in a provider's usage; 0 if it reports none. */
export function statedReasoningTokens(stated: unknown): number {
  const { reasoning_tokens: tokens } = fieldsOf(fieldsOf(stated).output_tokens_details);
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0;
}

function toChatNames(stated: unknown) {
  const usage = fieldsOf(stated);
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: usage.input_tokens_details,
    completion_tokens_details: usage.output_tokens_details,
  };
}
