import { AppError, type ErrorCode } from "../../kernel/errors.ts";
import type { Choice } from "./choice.ts";

/** Maximum number of fallback models of one request. */
export const MAX_FALLBACK_MODELS = 5;

/** Failures of a choice that concern its model only: the next model may still be used. */
const OF_ONE_MODEL: ReadonlySet<ErrorCode> = new Set([
  "access_denied",
  "invalid_body",
  "model_not_found",
  "no_available_provider",
  "no_provider_for_trust_mode",
  "no_provider_with_evidence",
  "no_provider_within_max_price",
  "pinned_provider_exceeds_max_price",
  "provider_model_mismatch",
]);

/**
 * Chooses for several models: a pure function. The candidates are those of the first model that has any, then those of
 * the next one; a model for which the choice fails is skipped. At most `maxCandidates` are kept: one of each model, as
 * far as they go, and the rest of the first models. Throws what the choice for the first model throws if it fails for
 * all of them, and at once what does not concern a single model.
 */
export function chooseAmong(
  models: readonly string[],
  choose: (model: string) => Choice,
  maxCandidates: number,
): Choice {
  const choices: Choice[] = [];
  const failures: AppError[] = [];
  for (const model of models)
    try {
      choices.push(withModel(choose(model), model));
    } catch (error) {
      if (!(error instanceof AppError) || !OF_ONE_MODEL.has(error.code)) throw error;
      failures.push(error);
    }
  const [first] = choices;
  if (!first) throw failures[0] ?? new Error("a choice without a model");
  const counts = shareOut(
    choices.map(({ candidates }) => candidates.length),
    maxCandidates,
  );
  return {
    candidates: choices.flatMap(({ candidates }, at) => candidates.slice(0, counts[at])),
    refused: choices.flatMap(({ candidates, refused }, at) => [
      ...refused,
      ...candidates.slice(counts[at]).map(({ address, model }) => ({
        ...{ provider: address, reason: "enough_candidates" as const },
        model,
      })),
    ]),
    evidence: first.evidence,
    affinity: choices.find(({ affinity }) => affinity !== undefined)?.affinity,
  };
}

/** Names the model beside each provider that is not used. */
function withModel(choice: Choice, model: string): Choice {
  return { ...choice, refused: choice.refused.map((one) => ({ ...one, model })) };
}

/** How many candidates of each choice are kept: one of each, as far as they go, then as many as the first ones have. */
function shareOut(lengths: readonly number[], most: number): readonly number[] {
  const counts = lengths.map((length, at) => (at < most && length > 0 ? 1 : 0));
  let left = most - counts.reduce<number>((sum, count) => sum + count, 0);
  return counts.map((count, at) => {
    const more = count === 0 ? 0 : Math.min(left, (lengths[at] ?? 0) - count);
    left -= more;
    return count + more;
  });
}
