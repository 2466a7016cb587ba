import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { EvidenceFloor, KeyRestrictions } from "../../keys/api-keys/key-settings.ts";
import { ratesFor } from "../billing/pricing.ts";
import type { ApiFormat } from "../providers/profile.ts";
import {
  inputTokensAt,
  isRoutable,
  type Model,
  type Provider,
  type ServiceType,
  trustModeOf,
} from "../providers/provider.ts";
import { type EvidenceStanding, meetsEvidence, noEvidence, requiredEvidence } from "./evidence-floor.ts";
import { type Affinity, byPreferences, hasCheaperCache, isRankedByClient } from "./ranking.ts";
import type { PriceCaps, RoutingPreferences, Usd } from "./routing-preferences.ts";

/** The state of a provider at the moment of a choice. */
export type ProviderState = {
  /** `open` after repeated failures: then it is not used, except for one probe at a time. */
  readonly circuit: "closed" | "open" | "half-open";
  /** Whether a pause that it requested has not ended yet. */
  readonly isResting: boolean;
  /** Time to first byte, milliseconds; undefined without recent requests. */
  readonly latencyMs: number | undefined;
  /** Tokens of an answer per second of its whole duration; undefined without recent answers. */
  readonly tokensPerSecond: number | undefined;
  /** Requests that it is currently answering. */
  readonly inFlight: number;
};

/** Why a provider is not used. */
export type RefusalReason =
  | "not_pinned"
  | "not_in_only"
  | "ignored"
  | "not_allowed_for_key"
  | "format_not_supported"
  | "unroutable"
  | "signer_not_acknowledged"
  | "below_trust_mode"
  | "lacks_evidence"
  | "above_max_price"
  | "context_too_short"
  | "circuit_open"
  | "resting"
  | "fallbacks_off"
  | "enough_candidates";

/** A provider that is not used, and why. */
export type Refused = {
  readonly provider: Hex;
  readonly reason: RefusalReason;
  /** The model of the offer; present only if the request names several. */
  readonly model?: string;
};

/** The candidates in order of failover, and the providers not used. */
export type Choice = {
  readonly candidates: readonly Provider[];
  readonly refused: readonly Refused[];
  /** The proof that is required of the answer, by the client or by the key. */
  readonly evidence?: EvidenceFloor | undefined;
  /** The conversation, if it matters which provider has its prompt cached: then the answer is recorded. */
  readonly affinity?: Affinity | undefined;
};

/** The inputs of a choice. */
export type ChoiceContext = {
  readonly model: string;
  readonly serviceType: ServiceType;
  /** The format of the called endpoint: `openai` for every endpoint that `ENDPOINTS` does not name. */
  readonly format: ApiFormat;
  readonly preferences: RoutingPreferences;
  /**
   * Estimated tokens of the prompt and the answer, used to compare offers; undefined where billing is not by token. Both
   * default to 1.
   */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** The client's limit on the tokens of the answer, if it sets one. */
  readonly answerTokens?: number | undefined;
  /** The restrictions of the key. */
  readonly restrictions: KeyRestrictions;
  readonly stateOf: (provider: Provider) => ProviderState;
  readonly standingOf: (provider: Provider) => EvidenceStanding;
  /** The network token's price in dollars; undefined if the router does not know it. */
  readonly tokenUsd: Usd | undefined;
  /** Whether a provider with this address exists. */
  readonly isKnown: (provider: Hex) => boolean;
  /** The conversation of the request, if it has one; called only if it may decide. */
  readonly affinity?: (() => Affinity | undefined) | undefined;
};

/** Maximum number of candidate providers per request. */
export const MAX_CANDIDATES = 3;

/**
 * Chooses the candidate providers: a pure function. The healthy eligible offers are ranked, and the first three become
 * candidates. If none is healthy, all eligible offers are ranked, because an attempt is better than a refusal. Where the
 * prompt is cached changes the ranking only, and not that of the client.
 *
 * Throws `access_denied` for a model, or for providers, that the key may not use; `model_not_found`;
 * `provider_not_found` and `provider_model_mismatch` for a pin; `invalid_body` for a format that no provider supports;
 * `no_available_provider` when no eligible provider can be used, or the client's lists exclude all; `no_provider_for_trust_mode`;
 * `no_provider_with_evidence`; `no_provider_within_max_price` or `pinned_provider_exceeds_max_price`; `invalid_max_price_usd` when the router has
 * no exchange rate for the comparison.
 */
export function choose(offered: Model | undefined, context: ChoiceContext): Choice {
  const { model, serviceType, restrictions, preferences } = context;
  if (restrictions.models.length > 0 && !restrictions.models.includes(model))
    throw denied(`This key may not use the model ${JSON.stringify(model)}.`);
  const offers = offered?.providers.filter((offer) => offer.serviceType === serviceType) ?? [];
  if (offers.length === 0) throw notFound(context);
  const refused: Refused[] = [];
  let eligible: readonly Provider[] = offers;
  for (const rule of RULES) {
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
  const ranked = (healthy.length > 0 ? healthy : eligible).toSorted(byPreferences(context, states, affinity));
  const isAlone = preferences.pin !== undefined || preferences.allowFallbacks === false;
  const candidates = isAlone ? ranked.slice(0, 1) : firstAndLongest(ranked, context);
  if (healthy.length > 0)
    for (const offer of eligible)
      if (!isHealthy(states.get(offer)))
        refused.push({
          provider: offer.address,
          reason: states.get(offer)?.isResting ? "resting" : "circuit_open",
        });
  for (const offer of ranked)
    if (!candidates.includes(offer))
      refused.push({ provider: offer.address, reason: isAlone ? "fallbacks_off" : "enough_candidates" });
  return { candidates, refused, evidence: requiredEvidence(context), ...(affinity && { affinity }) };
}

/** The affinity, if several providers may answer, the client does not rank them, and one has cheaper cached tokens. */
function affinityFor(eligible: readonly Provider[], context: ChoiceContext): Affinity | undefined {
  const { affinity, serviceType, preferences, inputTokens = 1 } = context;
  if (!affinity || serviceType !== "chatbot") return undefined;
  if (eligible.length < 2 || isRankedByClient(preferences)) return undefined;
  return eligible.some((offer) => hasCheaperCache(offer, inputTokens)) ? affinity() : undefined;
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

/** An endpoint of each format. */
const ENDPOINTS: Readonly<Record<ApiFormat, string>> = {
  openai: "/v1/chat/completions",
  anthropic: "/v1/messages",
  completions: "/v1/completions",
};

/** A rule that excludes offers, and the failure if it excludes all of them. */
type Rule = {
  reason(offer: Provider, context: ChoiceContext): RefusalReason | undefined;
  failure(context: ChoiceContext, left: readonly Provider[]): AppError;
};

const RULES: readonly Rule[] = [
  {
    reason: ({ address }, { preferences: { pin } }) =>
      pin === undefined || address === pin ? undefined : "not_pinned",
    failure: ({ preferences: { pin }, isKnown, model }) =>
      pin !== undefined && isKnown(pin)
        ? new AppError(
            "provider_model_mismatch",
            `The provider ${pin} does not offer the model ${JSON.stringify(model)}.`,
          )
        : new AppError("provider_not_found", `provider not found: ${pin}`),
  },
  {
    reason: ({ address }, { preferences: { only } }) =>
      only === undefined || only.includes(address) ? undefined : "not_in_only",
    failure: () => excludedBy("only"),
  },
  {
    reason: ({ address }, { preferences: { ignore } }) => (ignore?.includes(address) ? "ignored" : undefined),
    failure: () => excludedBy("ignore"),
  },
  {
    reason: ({ address }, { restrictions: { providers } }) =>
      providers.length === 0 || providers.includes(address) ? undefined : "not_allowed_for_key",
    failure: () => denied("This key may not use any of the providers of this model."),
  },
  {
    reason: ({ profile }, { format }) =>
      profile.formats.includes(format) ? undefined : "format_not_supported",
    failure: ({ model, format }, left) => {
      const formats = [...new Set(left.flatMap(({ profile }) => profile.formats))];
      const others = formats.map((name) => ENDPOINTS[name]).join(" or ");
      return new AppError(
        "invalid_body",
        `model ${JSON.stringify(model)} is not available on the ${format} API format (supported: ${formats.join(", ")}); use POST ${others} instead`,
        { param: "model" },
      );
    },
  },
  {
    reason: (offer) => {
      if (isRoutable(offer)) return undefined;
      return offer.unroutable === undefined ? "signer_not_acknowledged" : "unroutable";
    },
    failure: () => new AppError("no_available_provider", "No provider of this model is available."),
  },
  {
    reason: (offer, { restrictions, preferences }) =>
      meetsFloor(offer, restrictions.trustMode) && meetsFloor(offer, preferences.trustMode ?? null)
        ? undefined
        : "below_trust_mode",
    failure: ({ restrictions, preferences }) =>
      new AppError(
        "no_provider_for_trust_mode",
        `No provider of this model has the requested trust mode, ${[preferences.trustMode ?? restrictions.trustMode]}.`,
      ),
  },
  {
    reason: (offer, context) =>
      meetsEvidence(requiredEvidence(context), context.standingOf(offer)) ? undefined : "lacks_evidence",
    failure: (context, left) => noEvidence(requiredEvidence(context), left.map(context.standingOf)),
  },
  {
    reason: (offer, context) => (isWithinCaps(offer, context) ? undefined : "above_max_price"),
    failure: ({ preferences: { pin } }) =>
      pin === undefined
        ? new AppError(
            "no_provider_within_max_price",
            "No provider of this model is within the maximum price.",
          )
        : new AppError("pinned_provider_exceeds_max_price", "The pinned provider exceeds the maximum price."),
  },
];

function meetsFloor(offer: Provider, floor: KeyRestrictions["trustMode"]): boolean {
  if (floor === null) return true;
  const offered = trustModeOf(offer);
  return offered === "private" || offered === floor;
}

/** Caps are dollars per million tokens, or per image; 10^18 neuron are one token of the network. */
function isWithinCaps(offer: Provider, context: ChoiceContext): boolean {
  const { preferences, tokenUsd, inputTokens = 0 } = context;
  const { caps } = preferences;
  if (caps === undefined) return true;
  if (tokenUsd === undefined)
    throw new AppError(
      "invalid_max_price_usd",
      "This router does not know the price of its token, so it cannot apply a maximum price in dollars.",
    );
  const isWithin = (priceNeuron: bigint, count: bigint, kind: keyof PriceCaps) => {
    const cap = caps[kind];
    return cap === undefined || priceNeuron * count * tokenUsd <= cap * NEURON;
  };
  if (IMAGES.has(offer.serviceType)) return isWithin(offer.outputPrice, 1n, "image");
  const { input, output } = ratesFor(offer, inputTokensAt(offer, inputTokens));
  return isWithin(input, 1_000_000n, "prompt") && isWithin(output, 1_000_000n, "completion");
}

const NEURON = 10n ** 18n;
const IMAGES: ReadonlySet<ServiceType> = new Set(["text-to-image", "image-editing"]);

function isHealthy(state: ProviderState | undefined): boolean {
  return state !== undefined && state.circuit !== "open" && !state.isResting;
}

function notFound({ model, serviceType }: ChoiceContext): AppError {
  const kind = serviceType === "chatbot" ? "chat" : serviceType;
  return new AppError("model_not_found", `There is no ${kind} model ${JSON.stringify(model)}.`, {
    param: "model",
  });
}

function excludedBy(preference: "only" | "ignore"): AppError {
  return new AppError(
    "provider_model_mismatch",
    "The routing preferences exclude every provider of this model.",
    { param: `provider.${preference}` },
  );
}

function denied(message: string): AppError {
  return new AppError("access_denied", message, { param: "model" });
}
