import "../../shared/schema/reflect.ts";
import { Field, InputType } from "type-graphql";
import type { TrustMode as Trust } from "../../../src/inference/providers/provider.ts";
import { MAX_FALLBACK_MODELS } from "../../../src/inference/routing/fallback-models.ts";
import {
  MAX_LISTED_PROVIDERS,
  MAX_SESSION_ID,
  type PriceCaps,
  type RoutingPreferences,
  readUsd,
} from "../../../src/inference/routing/routing-preferences.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { hasAtMost } from "../../../src/kernel/text/characters.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { EvidenceFloor } from "../../../src/keys/api-keys/key-settings.ts";
import { ProviderEvidence } from "../../shared/evidence-floor.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DecimalScalar } from "../../shared/schema/scalars.ts";
import { TrustMode } from "../../shared/trust-mode.ts";

type Sort = NonNullable<RoutingPreferences["sort"]>;

/** How providers are ranked. */
const ProviderSort = defineEnum<Sort>("ProviderSort", "How providers are ranked.", {
  latency: "Lowest time to first byte first.",
  price: "Cheapest first.",
  throughput: "Most tokens per second first.",
});

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

  @Field(() => TrustMode, { nullable: true, description: "The minimum trust mode." })
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
      "The ids of at most 5 models to use, in this order, if no provider of the requested model answers. The request is billed at the prices of the model that answers. For chats and messages only.",
  })
  fallbackModels?: readonly string[] | null;

  @Field(() => String, {
    nullable: true,
    description:
      "An identifier, of at most 256 characters, of the conversation that the request belongs to. Requests of a conversation go to the provider that has their prompt cached if that costs less and no other preference decides. For chats and messages only.",
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
  if (!hasAtMost(sessionId ?? "", MAX_SESSION_ID))
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
