import "../../shared/schema/reflect.ts";
import { ArgsType, Field, ID, InputType, Int } from "type-graphql";
import type { OfferFilter, OfferSort } from "../../../src/inference/providers/offer-filter.ts";
import type { ApiFormat } from "../../../src/inference/providers/profile.ts";
import type { TrustMode as Trust, ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { readModelId } from "../../shared/nodes/filter-id.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";
import { SortDirection } from "../../shared/schema/sort-direction.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { ApiFormatEnum } from "./profile.type.ts";

/** Conditions of an offer. */
@InputType({ description: "Conditions of an offer." })
class OfferConditions {
  @Field(() => [ServiceType], { nullable: true, description: "Services of one of these types." })
  serviceTypes!: Type[] | null | undefined;

  @Field(() => [TrustMode], { nullable: true, description: "Offers with one of these trust modes." })
  trustModes!: Trust[] | null | undefined;

  @Field(() => ApiFormatEnum, { nullable: true, description: "Offers that support this API format." })
  apiFormat!: ApiFormat | null | undefined;

  @Field(() => [AddressScalar], { nullable: true, description: "Offers of one of these providers." })
  providerAddresses!: string[] | null | undefined;

  @Field(() => [String], {
    nullable: true,
    description: "Offers that accept all of these input modalities, such as `image`.",
  })
  inputModalities!: string[] | null | undefined;

  @Field(() => [String], {
    nullable: true,
    description: "Offers that publish all of these request parameters, such as `tools`.",
  })
  supportedParameters!: string[] | null | undefined;

  @Field(() => Int, {
    nullable: true,
    description: "Offers that publish a context of at least this many tokens.",
  })
  minContextLength!: number | null | undefined;

  @Field(() => NeuronScalar, { nullable: true, description: "The greatest price of an input token or unit." })
  maxInputPrice!: bigint | null | undefined;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The greatest price of an output token or unit.",
  })
  maxOutputPrice!: bigint | null | undefined;
}

/** The filter of a list of models. */
@InputType("ModelFilterInput", {
  description: "Lists only models with an offer that meets every given condition.",
})
class ModelFilterInput extends OfferConditions {}

/** The filter of a list of providers. */
@InputType("ProviderFilterInput", {
  description: "Lists only providers whose offer meets every given condition.",
})
class ProviderFilterInput extends OfferConditions {
  @Field(() => ID, { nullable: true, description: "Providers of this model." })
  modelId!: string | null | undefined;
}

const PRICE = "The sum of the prices of an input and an output token or unit";
const CONTEXT = "The published context length; 0 if none is published.";

/** What a list of models is ordered by. */
const ModelOrderField = defineEnum<OfferSort>("ModelOrderField", "What a list of models is ordered by.", {
  key: "The model's id.",
  price: `${PRICE}, at the model's cheapest provider.`,
  context: CONTEXT,
});

/** What a list of providers is ordered by. */
const ProviderOrderField = defineEnum<OfferSort>(
  "ProviderOrderField",
  "What a list of providers is ordered by.",
  {
    key: "The provider's address.",
    price: `${PRICE}.`,
    context: CONTEXT,
  },
);

/** The order of a list. */
export type OfferOrder = { readonly field: OfferSort; readonly direction: "asc" | "desc" };

@InputType("ModelOrderInput", { description: "The order of a list of models." })
class ModelOrderInput implements OfferOrder {
  @Field(() => ModelOrderField, { description: "What the list is ordered by." })
  field!: OfferSort;

  @Field(() => SortDirection, { description: "The direction." })
  direction!: OfferOrder["direction"];
}

@InputType("ProviderOrderInput", { description: "The order of a list of providers." })
class ProviderOrderInput implements OfferOrder {
  @Field(() => ProviderOrderField, { description: "What the list is ordered by." })
  field!: OfferSort;

  @Field(() => SortDirection, { description: "The direction." })
  direction!: OfferOrder["direction"];
}

/** The arguments of a list of models. */
@ArgsType()
export class ModelsArgs extends PageArgs {
  @Field(() => ModelFilterInput, { nullable: true, description: "Which models to list. Default: all." })
  filter!: ModelFilterInput | null | undefined;

  @Field(() => ModelOrderInput, {
    nullable: true,
    description:
      "The order of the list. A cursor is valid only in the order in which it was issued. Default: by id, ascending.",
  })
  orderBy!: ModelOrderInput | null | undefined;
}

/** The arguments of a list of providers. */
@ArgsType()
export class ProvidersArgs extends PageArgs {
  @Field(() => ProviderFilterInput, { nullable: true, description: "Which providers to list. Default: all." })
  filter!: ProviderFilterInput | null | undefined;

  @Field(() => ProviderOrderInput, {
    nullable: true,
    description:
      "The order of the list. A cursor is valid only in the order in which it was issued. Default: by address, ascending.",
  })
  orderBy!: ProviderOrderInput | null | undefined;
}

/** Maps the filter of a client. */
export function toOfferFilter(
  filter: (OfferConditions & { readonly modelId?: string | null | undefined }) | null | undefined,
): OfferFilter {
  if (!filter) return {};
  return {
    serviceTypes: filter.serviceTypes ?? undefined,
    modelId: readModelId(filter.modelId, "filter.modelId"),
    trustModes: filter.trustModes ?? undefined,
    apiFormat: filter.apiFormat ?? undefined,
    providerAddresses: filter.providerAddresses ?? undefined,
    inputModalities: filter.inputModalities ?? undefined,
    supportedParameters: filter.supportedParameters ?? undefined,
    minContextLength: toLength(filter.minContextLength),
    maxInputPrice: filter.maxInputPrice ?? undefined,
    maxOutputPrice: filter.maxOutputPrice ?? undefined,
  };
}

/** Throws `invalid_parameter` for a length that no context can have. */
function toLength(length: number | null | undefined): number | undefined {
  if (length == null) return undefined;
  const param = "filter.minContextLength";
  if (length < 0) throw new AppError("invalid_parameter", `${param}: must be at least 0`, { param });
  return length;
}
