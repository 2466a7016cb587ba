import { AppError } from "../../kernel/errors.ts";
import type { EvidenceFloor } from "../../keys/api-keys/key-settings.ts";
import type { Model, Provider } from "../providers/provider.ts";
import type { ChoiceContext, ProviderState, Refused } from "./choice-context.ts";
import { requiredEvidence } from "./evidence-floor.ts";
import { denied, OFFER_RULES } from "./offer-rules.ts";
import { type Affinity, byPreferences, hasCheaperCache, isRankedByClient } from "./ranking.ts";

/** The candidates in order of failover, and the providers not used. */
export type Choice = {
  readonly candidates: readonly Provider[];
  readonly refused: readonly Refused[];
  /** The proof of the answer that the client or the key requires. */
  readonly evidence?: EvidenceFloor | undefined;
  /** The conversation, if it matters which provider has its prompt cached: then the answer is recorded. */
  readonly affinity?: Affinity | undefined;
};

/** Maximum number of candidate providers per request. */
export const MAX_CANDIDATES = 3;

/**
 * Chooses the candidate providers: a pure function. The healthy eligible offers are ranked, and the first three become
 * candidates. If there are fewer, offers whose circuit is open come after them, since an attempt is better than a
 * failure. If none is healthy, all eligible offers are ranked. The provider that has the prompt cached, or that
 * encrypted a part of it, changes only the ranking, and not a ranking by the client.
 *
 * Throws `access_denied` for a model, or for providers, that the key may not use; `model_not_found`;
 * `provider_not_found` and `provider_model_mismatch` for a pin; `invalid_body` for a format that no provider supports;
 * `no_available_provider` when no eligible provider can be used, or the client's lists exclude all;
 * `no_provider_for_trust_mode`; `no_provider_with_evidence`; `no_provider_within_max_price` or
 * `pinned_provider_exceeds_max_price`; `invalid_max_price_usd` when the router has no exchange rate for the comparison.
 */
export function choose(offered: Model | undefined, context: ChoiceContext): Choice {
  const { model, serviceType, restrictions, preferences } = context;
  if (restrictions.models.length > 0 && !restrictions.models.includes(model))
    throw denied(`This key may not use the model ${JSON.stringify(model)}.`);
  const offers = offered?.providers.filter((offer) => offer.serviceType === serviceType) ?? [];
  if (offers.length === 0) throw notFound(context);
  const refused: Refused[] = [];
  let eligible: readonly Provider[] = offers;
  for (const rule of OFFER_RULES) {
    const kept: Provider[] = [];
    for (const offer of eligible) {
      const reason = rule.reason(offer, context);
      if (reason === undefined) kept.push(offer);
      else refused.push({ provider: offer.address, reason });
    }
    if (kept.length === 0) throw rule.failure(context, eligible);
    eligible = kept;
  }
  const fitting = eligible.filter((offer) => mayFit(offer, context));
  if (fitting.length > 0) {
    for (const offer of eligible)
      if (!fitting.includes(offer)) refused.push({ provider: offer.address, reason: "context_too_short" });
    eligible = fitting;
  }
  const states = new Map(eligible.map((offer) => [offer, context.stateOf(offer)]));
  const healthy = eligible.filter((offer) => isHealthy(states.get(offer)));
  const affinity = affinityFor(eligible, context);
  const ranked = inOrder(healthy.length > 0 ? healthy : eligible, () =>
    byPreferences(context, states, affinity),
  );
  const isAlone = preferences.pin !== undefined || preferences.allowFallbacks === false;
  const first = isAlone ? ranked.slice(0, 1) : firstAndLongest(ranked, context);
  const unhealthy = inOrder(
    eligible.filter((offer) => !ranked.includes(offer)),
    () => byPreferences(context, states, undefined),
  );
  const lastResort = unhealthy.filter((offer) => !states.get(offer)?.isResting);
  const candidates = isAlone ? first : [...first, ...lastResort].slice(0, MAX_CANDIDATES);
  for (const offer of unhealthy)
    if (!candidates.includes(offer))
      refused.push({
        provider: offer.address,
        reason: states.get(offer)?.isResting ? "resting" : "circuit_open",
      });
  for (const offer of ranked)
    if (!candidates.includes(offer))
      refused.push({ provider: offer.address, reason: isAlone ? "fallbacks_off" : "enough_candidates" });
  return { candidates, refused, evidence: requiredEvidence(context), ...(affinity && { affinity }) };
}

/** Nearly every model has few offers, and most of these lists one or none: their order is only made for more. */
function inOrder(
  offers: readonly Provider[],
  order: () => (one: Provider, other: Provider) => number,
): readonly Provider[] {
  return offers.length > 1 ? offers.toSorted(order()) : offers;
}

/**
 * The affinity, if several providers may answer, the client does not rank them, and one has cheaper cached tokens or may
 * encrypt text for itself.
 */
function affinityFor(eligible: readonly Provider[], context: ChoiceContext): Affinity | undefined {
  const { affinity, serviceType, preferences, inputTokens = 1, needs } = context;
  if (!affinity || serviceType !== "chatbot") return undefined;
  if (eligible.length < 2 || isRankedByClient(preferences)) return undefined;
  const matters =
    needs?.encrypted !== undefined || eligible.some((offer) => hasCheaperCache(offer, inputTokens));
  const found = matters ? affinity() : undefined;
  return found && needs?.encrypted === "in_prompt" ? { ...found, isBound: true } : found;
}

/** The factor by which an estimated token count may be too high. */
const LIKELY_EXCESS = 1.25;
/** The factor by which an estimated count may be too low: one token per byte. */
const LIKELY_SHORTAGE = 4;

/**
 * Whether a request probably fits into the context of an offer. Its token count is an estimate, so an offer is excluded
 * only if it is clearly too short; if an offer rejects the request as too long, a longer one is tried.
 */
function mayFit({ profile }: Provider, { inputTokens = 0, answerTokens = 0 }: ChoiceContext): boolean {
  const { contextLength } = profile;
  return contextLength === undefined || inputTokens / LIKELY_EXCESS + answerTokens <= contextLength;
}

/** The first offers; if all of them may be too short, the last is replaced by the offer with the longest context. */
function firstAndLongest(
  ranked: readonly Provider[],
  { inputTokens = 0, answerTokens = 0 }: ChoiceContext,
): readonly Provider[] {
  const first = ranked.slice(0, MAX_CANDIDATES);
  const lengthOf = ({ profile }: Provider) => profile.contextLength ?? 0;
  const mostTokens = inputTokens * LIKELY_SHORTAGE + answerTokens;
  const isShort = ({ profile }: Provider) => (profile.contextLength ?? mostTokens) < mostTokens;
  if (!first.every(isShort)) return first;
  const longest = ranked.reduce((best, offer) => (lengthOf(offer) > lengthOf(best) ? offer : best));
  return first.includes(longest) ? first : [...first.slice(0, -1), longest];
}

function isHealthy(state: ProviderState | undefined): boolean {
  return state !== undefined && state.circuit !== "open" && !state.isResting;
}

function notFound({ model, serviceType }: ChoiceContext): AppError {
  const kind = serviceType === "chatbot" ? "chat" : serviceType;
  return new AppError("model_not_found", `There is no ${kind} model ${JSON.stringify(model)}.`, {
    param: "model",
  });
}
