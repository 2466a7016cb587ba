import { AppError } from "../../kernel/errors.ts";
import type { KeyRestrictions } from "../../keys/api-keys/key-settings.ts";
import { ratesFor } from "../billing/pricing.ts";
import type { ApiFormat } from "../providers/profile.ts";
import {
  inputTokensAt,
  isRoutable,
  type Provider,
  type ServiceType,
  trustModeOf,
} from "../providers/provider.ts";
import type { ChoiceContext, RefusalReason } from "./choice-context.ts";
import { meetsEvidence, noEvidence, requiredEvidence } from "./evidence-floor.ts";
import type { PriceCaps } from "./routing-preferences.ts";

/** An endpoint of each format. */
const ENDPOINTS: Readonly<Record<ApiFormat, string>> = {
  openai: "/v1/chat/completions",
  anthropic: "/v1/messages",
  completions: "/v1/completions",
  responses: "/v1/responses",
};

/** A rule that excludes offers, and the failure if it excludes all of them. */
type Rule = {
  reason(offer: Provider, context: ChoiceContext): RefusalReason | undefined;
  failure(context: ChoiceContext, left: readonly Provider[]): AppError;
};

/** In the order in which offers are compared with them. */
export const OFFER_RULES: readonly Rule[] = [
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
    reason: ({ profile }, { format, needs }) =>
      (needs ? needs.serves(profile) : profile.formats.includes(format)) ? undefined : "format_not_supported",
    failure: ({ model, format, needs }, left) => {
      if (needs?.failure) return needs.failure;
      const formats = [...new Set(left.flatMap(({ profile }) => profile.formats))];
      const others = formats.map((name) => ENDPOINTS[name]).join(" or ");
      const advice = needs?.advice ?? `use POST ${others} instead`;
      return new AppError(
        "invalid_body",
        `model ${JSON.stringify(model)} is not available on the ${format} API format (supported: ${formats.join(", ")}); ${advice}`,
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
    failure: ({ restrictions, preferences }) => {
      const isPrivate = [preferences.trustMode, restrictions.trustMode].includes("private");
      const required = isPrivate ? "private" : "verified";
      return new AppError(
        "no_provider_for_trust_mode",
        `No provider of this model has the required trust mode, ${required}.`,
      );
    },
  },
  {
    reason: (offer, context) =>
      meetsEvidence(requiredEvidence(context), context.standingOf(offer)) ? undefined : "lacks_evidence",
    failure: (context, left) => noEvidence(requiredEvidence(context), left.map(context.standingOf)),
  },
  {
    reason: (offer, context) => (exceededCaps(offer, context).length === 0 ? undefined : "above_max_price"),
    failure: (context, left) =>
      context.preferences.pin === undefined
        ? new AppError(
            "no_provider_within_max_price",
            "No provider of this model is within the maximum price.",
            { param: fieldOf(exceededBy(left, context)) },
          )
        : new AppError("pinned_provider_exceeds_max_price", "The pinned provider exceeds the maximum price."),
  },
];

function meetsFloor(offer: Provider, floor: KeyRestrictions["trustMode"]): boolean {
  if (floor === null) return true;
  const offered = trustModeOf(offer);
  return offered === "private" || offered === floor;
}

type Cap = keyof PriceCaps;

/**
 * The caps that an offer exceeds. They are dollars per million tokens, or per image; 10^18 neuron are one token of the
 * network.
 */
function exceededCaps(offer: Provider, context: ChoiceContext): readonly Cap[] {
  const { preferences, tokenUsd, inputTokens = 0 } = context;
  const { caps } = preferences;
  if (caps === undefined) return [];
  if (tokenUsd === undefined)
    throw new AppError(
      "invalid_max_price_usd",
      "This router does not know the price of its token, so it cannot apply a maximum price in dollars.",
      { param: fieldOf(CAPS.find((kind) => caps[kind] !== undefined)) },
    );
  const isExceeded = (priceNeuron: bigint, count: bigint, kind: Cap) => {
    const cap = caps[kind];
    return cap !== undefined && priceNeuron * count * tokenUsd > cap * NEURON;
  };
  if (IMAGES.has(offer.serviceType)) return isExceeded(offer.outputPrice, 1n, "image") ? ["image"] : [];
  const { input, output } = ratesFor(offer, inputTokensAt(offer, inputTokens));
  return [
    ...(isExceeded(input, 1_000_000n, "prompt") ? (["prompt"] as const) : []),
    ...(isExceeded(output, 1_000_000n, "completion") ? (["completion"] as const) : []),
  ];
}

/** The cap that all of these offers exceed or, if each is excluded by another one, the first that any exceeds. */
function exceededBy(offers: readonly Provider[], context: ChoiceContext): Cap | undefined {
  const exceeded = offers.map((offer) => exceededCaps(offer, context));
  return (
    CAPS.find((kind) => exceeded.every((caps) => caps.includes(kind))) ??
    CAPS.find((kind) => exceeded.some((caps) => caps.includes(kind)))
  );
}

function fieldOf(cap: Cap | undefined): string {
  return cap === undefined ? "provider.max_price" : `provider.max_price.${cap}`;
}

const CAPS = ["prompt", "completion", "image"] as const satisfies readonly Cap[];

const NEURON = 10n ** 18n;
const IMAGES: ReadonlySet<ServiceType> = new Set(["text-to-image", "image-editing"]);

function excludedBy(preference: "only" | "ignore"): AppError {
  return new AppError(
    "provider_model_mismatch",
    "The routing preferences exclude every provider of this model.",
    { param: `provider.${preference}` },
  );
}

/** The failure for a model or providers that the key may not use. */
export function denied(message: string): AppError {
  return new AppError("access_denied", message, { param: "model" });
}
