import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { PriceTier } from "../../../src/inference/billing/pricing.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { NeuronScalar } from "../../shared/schema/scalars.ts";

/** The prices for requests up to a prompt length. */
@ObjectType("PriceTier", {
  description: "The prices per token for requests whose prompt has at most `maxInputTokens` tokens.",
  simpleResolvers: true,
})
export class PriceTierType {
  @Field(() => Int, { description: "The maximum number of prompt tokens of this tier." })
  maxInputTokens!: number;

  @Field(() => NeuronScalar, { description: "The price of one input token." })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "The price of one output token." })
  output!: bigint;

  @Field(() => NeuronScalar, {
    nullable: true,
    description:
      "The price of one input token read from the provider's cache. Null if it is the price of any input token.",
  })
  cachedInput!: bigint | null;
}

/** The prices of a provider. */
@ObjectType("Pricing", {
  description:
    "The prices of a provider: per token for text, per provider-defined unit for images and audio.",
  simpleResolvers: true,
})
export class PricingType {
  @Field(() => NeuronScalar, { description: "The price of one input token or unit." })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "The price of one output token or unit." })
  output!: bigint;

  @Field(() => NeuronScalar, {
    nullable: true,
    description:
      "The price of one input token read from the provider's cache. Null if it is the `input` price.",
  })
  cachedInput!: bigint | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description:
      "The price of one input token written to the provider's cache with a lifetime of minutes. Null if it is the `input` price.",
  })
  cacheWrite!: bigint | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description:
      "The price of one input token written to the provider's cache for an hour. Null if it is the `cacheWrite` " +
      "price.",
  })
  cacheWrite1h!: bigint | null;

  @Field(() => [PriceTierType], {
    description:
      "Prices for prompts up to a given length, shortest first. Prompts longer than every tier pay the prices above. Empty if the prices do not depend on the prompt's length.",
  })
  tiers!: readonly PriceTierType[];
}

/** Maps a provider's prices to their GraphQL type. */
export function toPricing({ inputPrice, outputPrice, cachePrice, tiers = [] }: Provider): PricingType {
  return {
    input: inputPrice,
    output: outputPrice,
    cachedInput: cachePrice?.read ?? null,
    cacheWrite: cachePrice?.write ?? null,
    cacheWrite1h: cachePrice?.write1h ?? null,
    tiers: tiers.map(toTier),
  };
}

function toTier({ maxInputTokens, inputPrice, outputPrice, cacheReadPrice }: PriceTier): PriceTierType {
  return { maxInputTokens, input: inputPrice, output: outputPrice, cachedInput: cacheReadPrice ?? null };
}
