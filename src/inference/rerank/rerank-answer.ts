import { readInputTokens, type UsageLimits } from "../billing/usage.ts";
import { emptyAnswer } from "../chat/whole-answer.ts";
import type { RerankRequest } from "./rerank-request.ts";

/** A long answer is read in outline, which keeps as many items of a list (`outlineOf`). */
const MAX_READ_RESULTS = 256;

/**
 * Throws a `ProviderFailure` unless these are the requested number of results: different documents of the request, each
 * with a score. Of a long answer, which contains its documents, the first 256 are read.
 */
export function requireResults(
  results: unknown,
  { documents, results: requested }: Pick<RerankRequest, "documents" | "results">,
): void {
  if (!Array.isArray(results)) throw emptyAnswer("The provider's answer is not a list of results.");
  const ranked = new Set<number>();
  for (const result of results.slice(0, MAX_READ_RESULTS)) {
    const index = rankedIndex(result);
    if (index === undefined || index >= documents || ranked.has(index))
      throw emptyAnswer("The provider's answer has an invalid result.");
    ranked.add(index);
  }
  if (results.length > requested || ranked.size < Math.min(requested, MAX_READ_RESULTS))
    throw emptyAnswer("The provider's answer lacks results, or has too many.");
}

/** The index of a result that also has a score. */
function rankedIndex(result: unknown): number | undefined {
  if (typeof result !== "object" || result === null) return undefined;
  const { index, relevance_score: score } = result as Readonly<Record<string, unknown>>;
  const isRanked = Number.isSafeInteger(index) && (index as number) >= 0 && Number.isFinite(score);
  return isRanked ? (index as number) : undefined;
}

/**
 * The tokens that a provider states, in the forms of vLLM (`usage.prompt_tokens`), Jina and Voyage (`usage.total_tokens`)
 * and Cohere (`meta.tokens.input_tokens`); undefined if none is valid.
 */
export function statedTokens(
  { usage, meta }: Readonly<Record<string, unknown>>,
  limits: UsageLimits,
): number | undefined {
  const { prompt_tokens, total_tokens } = objectOf(usage);
  const isStated = prompt_tokens != null || total_tokens != null;
  const { input_tokens } = objectOf(objectOf(meta).tokens);
  return readInputTokens(isStated ? usage : { prompt_tokens: input_tokens }, limits);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
