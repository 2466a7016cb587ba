import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { AttemptRecord } from "../../../src/inference/billing/ending.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { RefusalReason as Reason, Refused } from "../../../src/inference/routing/choice-context.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ProviderType } from "../models/provider.type.ts";

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
  resting: "The provider or an operator requested a pause that is not over.",
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
    description: "The id of the model of the offer. Null unless the request named several models.",
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
    description: "The id of the model. Null unless the request named several models.",
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
      "When the attempt began, in milliseconds after the start of the admission. Null for jobs, and for requests recorded by earlier versions.",
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
      "The address of the provider that last answered the conversation, and so probably had the prompt cached. Null if there is none, or if it made no difference.",
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
