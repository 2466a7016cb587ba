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
const Output = z.object({ output_tokens: count });
type Tokens = Required<Omit<TokenUsage, "reasoningTokens">>;

/** Summaries of one request: more are not expected, and not read. */
const MAX_ITERATIONS = 100;
const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cache: { read: 0, write: 0, write1h: 0 } } as const;

/**
 * Reads the prompt tokens that the provider reports, with those of its summaries; undefined if missing or invalid.
 * Anthropic counts tokens read from or written to a cache separately; here they are part of the input.
 */
export function readInputUsage(stated: unknown, maxTokens: number): InputUsage | undefined {
  const own = readInput(stated);
  if (!own) return undefined;
  const { inputTokens, cache } = sumOf({ ...own, outputTokens: 0 }, summariesOf(stated));
  if (inputTokens > maxTokens) return undefined;
  return { inputTokens, ...(cache.read + cache.write + cache.write1h > 0 && { cache }) };
}

/** The answer tokens that the provider reports, with those of its summaries, if they are within the limit. */
export function readOutputUsage(stated: unknown, maxTokens: number): number | undefined {
  const own = Output.safeParse(stated).data;
  if (!own) return undefined;
  const tokens = own.output_tokens + summariesOf(stated).outputTokens;
  return tokens <= maxTokens ? tokens : undefined;
}

/**
 * The tokens with which the provider summarized the conversation (`compaction.ts`). They are in `usage.iterations`, and
 * not in the other members of `usage`.
 */
function summariesOf(stated: unknown): Tokens {
  const { iterations } = (stated ?? {}) as { readonly iterations?: unknown };
  if (!Array.isArray(iterations)) return NO_TOKENS;
  return iterations.slice(0, MAX_ITERATIONS).reduce<Tokens>((sum, iteration) => {
    if ((iteration as { readonly type?: unknown } | null)?.type !== "compaction") return sum;
    const input = readInput(iteration);
    const output = Output.safeParse(iteration).data;
    return input && output ? sumOf(sum, { ...input, outputTokens: output.output_tokens }) : sum;
  }, NO_TOKENS);
}

function readInput(stated: unknown): Pick<Tokens, "inputTokens" | "cache"> | undefined {
  const result = Input.safeParse(stated);
  if (!result.success) return undefined;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation } = result.data;
  const read = cache_read_input_tokens ?? 0;
  const written = cache_creation_input_tokens ?? 0;
  const write1h = Math.min(written, cache_creation?.ephemeral_1h_input_tokens ?? 0);
  return { inputTokens: input_tokens + read + written, cache: { read, write: written - write1h, write1h } };
}

function sumOf(one: Tokens, other: Tokens): Tokens {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cache: {
      read: one.cache.read + other.cache.read,
      write: one.cache.write + other.cache.write,
      write1h: one.cache.write1h + other.cache.write1h,
    },
  };
}

/** Whether the cache counts in a provider's usage, if any, equal the billed ones, of which its summaries have a part. */
export function isMessageCacheShown(stated: unknown, billed: Pick<InputUsage, "cache"> | undefined): boolean {
  const { cache: summaries } = summariesOf(stated);
  const read = (billed?.cache?.read ?? 0) - summaries.read;
  const write = (billed?.cache?.write ?? 0) - summaries.write;
  const write1h = (billed?.cache?.write1h ?? 0) - summaries.write1h;
  const { cache_creation: created } = (stated ?? {}) as { readonly cache_creation?: unknown };
  return (
    isShown(stated, "cache_read_input_tokens", read) &&
    isShown(stated, "cache_creation_input_tokens", write + write1h) &&
    isShown(created, "ephemeral_5m_input_tokens", write) &&
    isShown(created, "ephemeral_1h_input_tokens", write1h)
  );
}

/** A provider's usage with the billed cache counts, which include those of its summaries. */
export function withBilledCache(
  stated: Readonly<Record<string, unknown>>,
  billed: Pick<InputUsage, "cache"> | undefined,
) {
  const { read = 0, write = 0, write1h = 0 } = billed?.cache ?? {};
  const { cache_creation: _, iterations: __, ...usage } = stated;
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
