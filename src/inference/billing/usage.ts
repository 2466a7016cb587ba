import type { Provider } from "../providers/provider.ts";
import type { CacheTokens, TokenUsage } from "./pricing.ts";

/** The tokens of a prompt, and how many of them the provider read from or wrote to its cache. */
export type InputUsage = Pick<TokenUsage, "inputTokens" | "cache">;

/** A provider's reported usage per side; undefined for a side that is missing or invalid. */
export type StatedUsage = {
  readonly input: InputUsage | undefined;
  readonly outputTokens: number | undefined;
  readonly reasoningTokens?: number;
};

/** The maximum tokens that a request can use with one provider. A higher reported number is invalid. */
export type UsageLimits = { readonly maxInputTokens: number; readonly maxOutputTokens: number };

/** The billed usage of an answer; `estimated` if either side is the router's own count. */
export type Metered = { readonly usage: TokenUsage; readonly estimated: boolean };

/** The longest context of any model today: the limit on a reported prompt where the context is unknown. */
const MAX_CONTEXT_TOKENS = 10_485_760;

/**
 * The limits for a request whose answer has at most `maxOutputTokens`. Each of its separate prompts may be as long as the
 * model's context.
 */
export function usageLimits(
  { profile: { contextLength } }: Pick<Provider, "profile">,
  maxOutputTokens: number,
  prompts = 1,
): UsageLimits {
  const maxInputTokens = contextLength === undefined ? MAX_CONTEXT_TOKENS : contextLength * prompts;
  return { maxInputTokens, maxOutputTokens };
}

/**
 * Reads usage in OpenAI's format (promises F27): each count must be an integer from 0 to its limit, and the total the
 * sum of both, or of both and the reasoning: then the reasoning, which providers charge like the answer, is added to it.
 * A reported zero is a zero. An invalid side does not invalidate the other. Cache counts are used where they are valid.
 */
export function readUsage(stated: unknown, { maxInputTokens, maxOutputTokens }: UsageLimits): StatedUsage {
  const inputTokens = countOf(stated, "prompt_tokens");
  const outputTokens = countOf(stated, "completion_tokens");
  if (!isSum(stated, inputTokens, outputTokens)) return NOTHING_STATED;
  const cache = cacheOf(memberOf(stated, "prompt_tokens_details"));
  const isInput = inputTokens !== undefined && inputTokens <= maxInputTokens;
  const isPart = isInput && cache !== undefined && isPartOf(inputTokens, cache);
  const isOutput = outputTokens !== undefined && outputTokens <= maxOutputTokens;
  const thought = isOutput ? reasoningOf(stated) : 0;
  const apart = isOutput && isApart(stated, (inputTokens ?? 0) + outputTokens) ? thought : 0;
  const answered = isOutput ? Math.min(outputTokens + apart, maxOutputTokens) : undefined;
  return {
    input: isInput ? { inputTokens, ...(isPart && { cache }) } : undefined,
    outputTokens: answered,
    ...(answered !== undefined && thought > 0 && thought <= answered && { reasoningTokens: thought }),
  };
}

/**
 * Reads the tokens of a request whose answer is not counted in tokens, such as embeddings: servers state them as
 * `prompt_tokens`, as `total_tokens` or as both. Undefined if they are missing or invalid, or if the total is not
 * their sum with those of an answer.
 */
export function readInputTokens(stated: unknown, limits: UsageLimits): number | undefined {
  const total = memberOf(stated, "total_tokens");
  const prompt = memberOf(stated, "prompt_tokens") ?? total;
  const answer = memberOf(stated, "completion_tokens") ?? 0;
  return readUsage({ prompt_tokens: prompt, completion_tokens: answer, total_tokens: total }, limits).input
    ?.inputTokens;
}

/** Whether such usage has these tokens under both names that it has. */
export function showsInputTokens(stated: unknown, inputTokens: number): boolean {
  if (memberOf(stated, "prompt_tokens") !== inputTokens) return false;
  return isShown(stated, "total_tokens", inputTokens + (countOf(stated, "completion_tokens") ?? 0));
}

export const NOTHING_STATED: StatedUsage = { input: undefined, outputTokens: undefined };

/** Both sides, if both are reported. */
export function wholeUsage({ input, outputTokens, reasoningTokens }: StatedUsage): TokenUsage | undefined {
  if (!input || outputTokens === undefined) return undefined;
  return { ...input, outputTokens, ...(reasoningTokens !== undefined && { reasoningTokens }) };
}

/**
 * The billed usage: each side as the provider reports it, otherwise as the router counts it. `uncounted` counts the
 * answer tokens that came after the reported ones, or all of them. The output never exceeds the requested maximum, nor
 * the input what the model can read: the hold covers no more.
 */
export async function meterUsage(
  { input, outputTokens, reasoningTokens }: StatedUsage,
  count: { readonly input: () => Promise<number>; readonly uncounted: () => Promise<number> },
  { maxInputTokens, maxOutputTokens }: UsageLimits,
): Promise<Metered> {
  const [inputUsage, uncounted] = input
    ? [input, await count.uncounted()]
    : await Promise.all([
        count.input().then((counted) => ({ inputTokens: Math.min(counted, maxInputTokens) })),
        count.uncounted(),
      ]);
  return {
    usage: {
      ...inputUsage,
      outputTokens: Math.min((outputTokens ?? 0) + uncounted, maxOutputTokens),
      ...(reasoningTokens !== undefined && { reasoningTokens }),
    },
    estimated: input === undefined || outputTokens === undefined || uncounted > 0,
  };
}

/** Usage in OpenAI's format, shown to the client where the provider's own is not what is billed. */
export function chatUsage({ inputTokens, outputTokens, cache, reasoningTokens }: TokenUsage) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cache && { prompt_tokens_details: shownCache(cache) }),
    ...(reasoningTokens !== undefined && {
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    }),
  };
}

/** The tokens of a prompt that were read from a cache or written to one, in OpenAI's format. */
export function shownCache({ read, write, write1h }: CacheTokens) {
  return {
    cached_tokens: read,
    ...(write > 0 && { cache_write_tokens: write }),
    ...(write1h > 0 && { cache_write_1h_tokens: write1h }),
  };
}

/** Whether a provider's usage, which was read, has the billed tokens of the answer and, if any, of the cache. */
export function isAsBilled(stated: unknown, billed: Pick<TokenUsage, "cache" | "outputTokens">): boolean {
  return isShown(stated, "completion_tokens", billed.outputTokens) && isCacheShown(stated, billed);
}

/** Whether the cache counts in a provider's usage, if any, equal the billed ones. */
export function isCacheShown(stated: unknown, { cache }: Pick<TokenUsage, "cache">): boolean {
  const details = memberOf(stated, "prompt_tokens_details");
  if (details === undefined || details === null) return true;
  const { read = 0, write = 0, write1h = 0 } = cache ?? {};
  return (
    typeof details === "object" &&
    isShown(details, "cached_tokens", read) &&
    isShown(details, "cache_write_tokens", write) &&
    isShown(details, "cache_write_1h_tokens", write1h)
  );
}

/** Whether the member is absent or equals this count. */
export function isShown(object: unknown, name: string, tokens: number): boolean {
  const stated = memberOf(object, name);
  return stated === undefined || stated === null || stated === tokens;
}

function memberOf(object: unknown, name: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  return (object as Readonly<Record<string, unknown>>)[name];
}

/** The member if it is a count of tokens: an integer from 0 that a number represents exactly. */
function countOf(object: unknown, name: string): number | undefined {
  const value = memberOf(object, name);
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function cacheOf(details: unknown): CacheTokens | undefined {
  if (typeof details !== "object" || details === null || Array.isArray(details)) return undefined;
  return {
    read: countOf(details, "cached_tokens") ?? 0,
    write: countOf(details, "cache_write_tokens") ?? 0,
    write1h: countOf(details, "cache_write_1h_tokens") ?? 0,
  };
}

/** Whether the cache counts fit into a prompt of `inputTokens`. */
function isPartOf(inputTokens: number, { read, write, write1h }: CacheTokens): boolean {
  return read + write + write1h <= inputTokens;
}

/**
 * Whether the total is the sum of both counts, if all are present. Some servers count reasoning apart from the answer.
 */
function isSum(stated: unknown, inputTokens: number | undefined, outputTokens: number | undefined): boolean {
  const total = countOf(stated, "total_tokens");
  if (inputTokens === undefined || outputTokens === undefined || total === undefined) return true;
  const sum = inputTokens + outputTokens;
  return total === sum || total === sum + reasoningOf(stated);
}

/** Whether the total shows that the reasoning is not part of an answer, and so not of a `sum` with it. */
function isApart(stated: unknown, sum: number): boolean {
  const total = countOf(stated, "total_tokens");
  return total !== undefined && total !== sum;
}

/** The tokens of reasoning that a provider reports; 0 if none. */
function reasoningOf(stated: unknown): number {
  return countOf(memberOf(stated, "completion_tokens_details"), "reasoning_tokens") ?? 0;
}
