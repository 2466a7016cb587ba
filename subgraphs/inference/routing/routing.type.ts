import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { AttemptRecord } from "../../../src/inference/billing/ending.ts";
import type { Provider, TrustMode as Trust } from "../../../src/inference/providers/provider.ts";
import type { RefusalReason as Reason, Refused } from "../../../src/inference/routing/choice-context.ts";
import { MAX_FALLBACK_MODELS } from "../../../src/inference/routing/fallback-models.ts";
import {
  isSessionId,
  MAX_LISTED_PROVIDERS,
  MAX_SESSION_ID,
  type PriceCaps,
  type RoutingPreferences,
  readUsd,
} from "../../../src/inference/routing/routing-preferences.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { EvidenceFloor } from "../../../src/keys/api-keys/key-settings.ts";
import { ProviderEvidence } from "../../shared/evidence-floor.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DecimalScalar } from "../../shared/schema/scalars.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { ProviderType } from "../models/provider.type.ts";

type Sort = NonNullable<RoutingPreferences["sort"]>;

/** How providers are ranked. */
const ProviderSort = defineEnum<Sort>("ProviderSort", "How providers are ranked.", {
  latency: "Lowest time to first byte first.",
  price: "Cheapest first.",
  throughput: "Most tokens per second first.",
});

/** Why a provider is not tried. */
const ExclusionReason = defineEnum<Reason>("ExclusionReason", "Why a provider is not tried for a request.", {
  not_pinned: "The request is pinned to another provider.",
  not_in_only: "The request is limited to other providers.",
  ignored: "The request excludes the provider.",
  not_allowed_for_key: "The key may not use the provider.",
  format_not_supported: "The provider does not support the API format of the request.",
  unroutable: "The provider's URL is not allowed.",
  signer_not_acknowledged: "The network did not acknowledge the provider's signer.",
  below_trust_mode: "The provider's trust mode is below the requested one.",
  lacks_evidence: "The provider gave no recent evidence of the required kind.",
  above_max_price: "The provider's price is above the requested maximum.",
  context_too_short: "The provider's context length is too short for the request.",
  circuit_open: "The provider failed repeatedly and receives no requests for a while.",
  resting: "The provider requested a pause that is not over.",
  fallbacks_off: "Fallback providers are turned off for this request.",
  enough_candidates: "Enough candidates rank before the provider.",
});

/** The outcome of an attempt with a provider. */
const AttemptOutcome = defineEnum<AttemptRecord["outcome"]>(
  "AttemptOutcome",
  "The outcome of an attempt with a provider.",
  {
    answered: "The provider answered.",
    failed: "The provider did not answer, or broke off.",
    aborted: "The client disconnected.",
  },
);

/** Routing preferences. */
@InputType("RoutingInput", {
  description: "Routing preferences. The router decides everything that is not set.",
})
export class RoutingInput {
  @Field(() => ProviderSort, { nullable: true, description: "How to rank the providers." })
  sort?: Sort | null;

  @Field(() => AddressScalar, { nullable: true, description: "The only provider to use." })
  provider?: Hex | null;

  @Field(() => [AddressScalar], {
    nullable: true,
    description: "Providers to try first, in this order. At most 50.",
  })
  order?: readonly Hex[] | null;

  @Field(() => [AddressScalar], {
    nullable: true,
    description: "The providers that may be used. At most 50.",
  })
  only?: readonly Hex[] | null;

  @Field(() => [AddressScalar], {
    nullable: true,
    description: "Providers that may not be used. At most 50.",
  })
  ignore?: readonly Hex[] | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether another provider may be tried if one fails. Default: true.",
  })
  allowFallbacks?: boolean | null;

  @Field(() => TrustMode, { nullable: true, description: "The lowest acceptable trust mode." })
  trustMode?: Trust | null;

  @Field(() => ProviderEvidence, {
    nullable: true,
    description:
      "The proof that is required. A response without it is billed and delivered, with `bill { unproven }`; a subscription ends with the error `evidence_missing`.",
  })
  evidence?: EvidenceFloor | null;

  @Field(() => DecimalScalar, {
    nullable: true,
    description: "The maximum input price in USD per million tokens, such as `0.25`.",
  })
  maxPriceUsdPrompt?: string | null;

  @Field(() => DecimalScalar, {
    nullable: true,
    description: "The maximum output price in USD per million tokens.",
  })
  maxPriceUsdCompletion?: string | null;

  @Field(() => DecimalScalar, { nullable: true, description: "The maximum price of one image in USD." })
  maxPriceUsdImage?: string | null;

  @Field(() => [String], {
    nullable: true,
    description:
      "The ids of at most 5 models to use, in this order, if no provider of the requested one answers: the request is billed at the prices of the model that answers. For chats and messages only.",
  })
  fallbackModels?: readonly string[] | null;

  @Field(() => String, {
    nullable: true,
    description:
      "The conversation that the request belongs to, in at most 256 characters: its requests go to the provider that has their prompt cached, where that costs less and no other preference decides. For chats and messages only.",
  })
  sessionId?: string | null;
}

/** Maps a `RoutingInput` to routing preferences. Throws `invalid_max_price_usd` and `invalid_parameter`. */
export function toPreferences(input: RoutingInput | null | undefined): RoutingPreferences {
  const { sort, provider, allowFallbacks, trustMode, evidence, fallbackModels, sessionId } = input ?? {};
  if ((fallbackModels ?? []).length > MAX_FALLBACK_MODELS)
    throw new AppError("invalid_parameter", `fallbackModels has at most ${MAX_FALLBACK_MODELS} models.`, {
      param: "fallbackModels",
    });
  if (!isSessionId(sessionId ?? ""))
    throw new AppError("invalid_parameter", `sessionId has at most ${MAX_SESSION_ID} characters.`, {
      param: "sessionId",
    });
  const caps: PriceCaps = {
    ...capOf("prompt", "maxPriceUsdPrompt", input),
    ...capOf("completion", "maxPriceUsdCompletion", input),
    ...capOf("image", "maxPriceUsdImage", input),
  };
  return {
    ...(sort && { sort }),
    ...(provider && { pin: provider }),
    ...listOf("order", input),
    ...listOf("only", input),
    ...listOf("ignore", input),
    ...(allowFallbacks != null && { allowFallbacks }),
    ...(trustMode && trustMode !== "standard" && { trustMode }),
    ...(evidence && { evidence }),
    ...(Object.keys(caps).length > 0 && { caps }),
    ...(fallbackModels && fallbackModels.length > 0 && { fallbackModels }),
    ...(sessionId && { sessionId }),
  };
}

function listOf(
  name: "order" | "only" | "ignore",
  input: RoutingInput | null | undefined,
): RoutingPreferences {
  const addresses = input?.[name];
  if (addresses == null) return {};
  if (addresses.length <= MAX_LISTED_PROVIDERS) return { [name]: addresses };
  throw new AppError("invalid_parameter", `${name} has at most ${MAX_LISTED_PROVIDERS} providers.`, {
    param: name,
  });
}

type CapField = "maxPriceUsdPrompt" | "maxPriceUsdCompletion" | "maxPriceUsdImage";

function capOf(name: keyof PriceCaps, field: CapField, input: RoutingInput | null | undefined): PriceCaps {
  const text = input?.[field];
  if (text == null) return {};
  const usd = readUsd(text);
  if (usd !== undefined) return { [name]: usd };
  const param = `routing.${field}`;
  throw new AppError("invalid_max_price_usd", `${param} is a decimal of USD, such as 0.25.`, { param });
}

/** A provider that is not tried. */
@ObjectType("ExcludedProvider", {
  description: "A provider that is not tried for a request, and the reason.",
  simpleResolvers: true,
})
class ExcludedProviderType {
  @Field(() => AddressScalar, {
    name: "providerAddress",
    simple: false,
    description: "The address of the provider.",
  })
  provider!: Hex;

  @Field(() => ExclusionReason, { description: "Why the provider is not tried." })
  reason!: Reason;

  @Field(() => String, {
    name: "modelId",
    nullable: true,
    simple: false,
    description: "The id of the model of the offer. Null unless the request named several.",
  })
  model?: string | undefined;
}

/** An attempt with a provider. */
@ObjectType("RoutingAttempt", {
  description: "An attempt with a provider, and its outcome.",
  simpleResolvers: true,
})
class RoutingAttemptType {
  @Field(() => AddressScalar, {
    name: "providerAddress",
    simple: false,
    description: "The address of the provider.",
  })
  provider!: Hex;

  @Field(() => String, {
    name: "modelId",
    nullable: true,
    simple: false,
    description: "The id of the model. Null unless the request named several.",
  })
  model?: string | undefined;

  @Field(() => AttemptOutcome, { description: "The outcome of the attempt." })
  outcome!: AttemptRecord["outcome"];

  @Field(() => String, {
    nullable: true,
    description: "Why the attempt failed, in one word such as `silent` or `busy`. Null unless failed.",
  })
  reason?: string | undefined;

  @Field(() => Int, { nullable: true, description: "The HTTP status of the failure. Null if there is none." })
  status?: number | undefined;

  @Field(() => Int, {
    nullable: true,
    description:
      "When the attempt began, in milliseconds after the start of the admission. Null for jobs, and for requests of earlier versions.",
  })
  startMs?: number | undefined;

  @Field(() => Int, { description: "The duration of the attempt, in milliseconds." })
  durationMs!: number;
}

/** How a request was routed. */
@ObjectType("RequestRouting", { description: "How a request was routed.", simpleResolvers: true })
export class RequestRoutingType {
  @Field(() => [RoutingAttemptType], {
    name: "attempts",
    simple: false,
    description: "The attempts with providers, in order.",
  })
  tried!: readonly AttemptRecord[];

  @Field(() => [ExcludedProviderType], {
    name: "excluded",
    simple: false,
    description: "The providers of the model that the router did not consider, each with the reason.",
  })
  refused!: readonly Refused[];

  @Field(() => AddressScalar, {
    name: "cachedByAddress",
    nullable: true,
    simple: false,
    description:
      "The address of the provider that answered the conversation last, and so probably had the prompt cached. Null if none did, or it made no difference.",
  })
  cachedBy?: Hex | undefined;
}

/** How a request would be routed. */
@ObjectType("RoutingPreview", {
  description:
    "The providers that a request would be routed to now, and those that would not be tried. No provider is called " +
    "and nothing is billed.",
  simpleResolvers: true,
})
export class RoutingPreviewType {
  @Field(() => [ProviderType], { description: "The candidates, in the order of failover." })
  providers!: readonly Provider[];

  @Field(() => [ExcludedProviderType], {
    name: "excluded",
    simple: false,
    description: "The other providers of the model, each with the reason why it would not be tried.",
  })
  refused!: readonly Refused[];
}
