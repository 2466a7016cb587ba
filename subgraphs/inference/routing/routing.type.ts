import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { AttemptRecord } from "../../../src/inference/billing/admitted.ts";
import type { Provider, TrustMode as Trust } from "../../../src/inference/providers/provider.ts";
import type { RefusalReason as Reason, Refused } from "../../../src/inference/routing/choice.ts";
import {
  type PriceCaps,
  type RoutingPreferences,
  readUsd,
} from "../../../src/inference/routing/routing-preferences.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { ProviderType } from "../models/provider.type.ts";

type Sort = NonNullable<RoutingPreferences["sort"]>;

/** By what providers are ranked. */
const ProviderSort = defineEnum<Sort>("ProviderSort", "By what providers are ranked.", {
  latency: "The quickest first, by its first byte.",
  price: "The cheapest first.",
});

/** Why a provider is not tried. */
const RefusalReason = defineEnum<Reason>("RefusalReason", "Why a provider is not tried.", {
  not_pinned: "The request is pinned to another provider.",
  not_allowed_for_key: "The key may not use it.",
  format_not_supported: "It does not support the API format of the request.",
  unroutable: "Its URL is not allowed.",
  signer_not_acknowledged: "The network did not acknowledge its signer.",
  below_trust_mode: "Its trust mode is below the requested one.",
  above_max_price: "Its price is above the requested maximum.",
  context_too_short: "Its context is too short for the request.",
  circuit_open: "It failed repeatedly and is left alone for a while.",
  resting: "It requested a pause, which is not over.",
  fallbacks_off: "Fallback providers are turned off for this request.",
  enough_candidates: "Enough others come before it.",
});

/** The outcome of an attempt with a provider. */
const AttemptOutcome = defineEnum<AttemptRecord["outcome"]>(
  "AttemptOutcome",
  "The outcome of an attempt with a provider.",
  {
    answered: "It answered.",
    failed: "It did not answer, or broke off.",
    aborted: "The client left.",
  },
);

/** How to choose the provider. */
@InputType("RoutingInput", {
  description: "How to choose the provider; what is left out is the router's to choose.",
})
export class RoutingInput {
  @Field(() => ProviderSort, { nullable: true, description: "Which provider comes first." })
  sort?: Sort | null;

  @Field(() => AddressScalar, { nullable: true, description: "The one provider to ask, and no other." })
  provider?: Hex | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether another provider may be tried when one fails. Default: true.",
  })
  allowFallbacks?: boolean | null;

  @Field(() => TrustMode, { nullable: true, description: "How far a provider must be trusted at the least." })
  trustMode?: Trust | null;

  @Field(() => String, {
    nullable: true,
    description: "What input may cost at the most: USD for a million tokens, such as `0.25`.",
  })
  maxPriceUsdPrompt?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "What output may cost at the most: USD for a million tokens.",
  })
  maxPriceUsdCompletion?: string | null;

  @Field(() => String, { nullable: true, description: "What one image may cost at the most: USD." })
  maxPriceUsdImage?: string | null;
}

/** What the router takes a `RoutingInput` for. Throws `invalid_max_price_usd`. */
export function toPreferences(input: RoutingInput | null | undefined): RoutingPreferences {
  const { sort, provider, allowFallbacks, trustMode } = input ?? {};
  const caps: PriceCaps = {
    ...capOf("prompt", "maxPriceUsdPrompt", input),
    ...capOf("completion", "maxPriceUsdCompletion", input),
    ...capOf("image", "maxPriceUsdImage", input),
  };
  return {
    ...(sort && { sort }),
    ...(provider && { pin: provider }),
    ...(allowFallbacks != null && { allowFallbacks }),
    ...(trustMode && trustMode !== "standard" && { trustMode }),
    ...(Object.keys(caps).length > 0 && { caps }),
  };
}

type CapField = "maxPriceUsdPrompt" | "maxPriceUsdCompletion" | "maxPriceUsdImage";

function capOf(name: keyof PriceCaps, field: CapField, input: RoutingInput | null | undefined): PriceCaps {
  const text = input?.[field];
  if (text == null) return {};
  const usd = readUsd(text);
  if (usd !== undefined) return { [name]: usd };
  throw new AppError("invalid_max_price_usd", `${field} is a decimal of USD, such as 0.25.`, {
    param: field,
  });
}

/** A provider that is not tried. */
@ObjectType("RefusedProvider", { description: "A provider that is not tried.", simpleResolvers: true })
class RefusedProviderType {
  @Field(() => AddressScalar, { description: "Its address." })
  provider!: Hex;

  @Field(() => RefusalReason, { description: "Why it is not." })
  reason!: Reason;
}

/** Asking a provider. */
@ObjectType("RoutingAttempt", {
  description: "An attempt with a provider, and its outcome.",
  simpleResolvers: true,
})
class RoutingAttemptType {
  @Field(() => AddressScalar, { description: "The address of the provider." })
  provider!: Hex;

  @Field(() => AttemptOutcome, { description: "What came of it." })
  outcome!: AttemptRecord["outcome"];

  @Field(() => String, {
    nullable: true,
    description: "Why it failed, in a word such as `silent` or `busy`.",
  })
  reason?: string | undefined;

  @Field(() => Int, { nullable: true, description: "The HTTP status that it failed with." })
  status?: number | undefined;

  @Field(() => Int, { description: "How long it took, in milliseconds." })
  durationMs!: number;
}

/** How a request found its provider. */
@ObjectType("RequestRouting", { description: "How a request found its provider.", simpleResolvers: true })
export class RequestRoutingType {
  @Field(() => [RoutingAttemptType], { description: "The attempts, in order." })
  tried!: readonly AttemptRecord[];

  @Field(() => [RefusedProviderType], { description: "Who was not, and why." })
  refused!: readonly Refused[];
}

/** Who would be tried. */
@ObjectType("RoutingPreview", {
  description:
    "The providers a request would be routed to now, and those that would be refused. No provider is called and nothing is billed.",
  simpleResolvers: true,
})
export class RoutingPreviewType {
  @Field(() => [ProviderType], { description: "The candidates, in the order of failover." })
  providers!: readonly Provider[];

  @Field(() => [RefusedProviderType], { description: "Who would not, and why." })
  refused!: readonly Refused[];
}
