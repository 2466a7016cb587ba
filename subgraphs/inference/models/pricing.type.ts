import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { PriceTier } from "../../../src/inference/billing/pricing.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { NeuronScalar } from "../../shared/schema/scalars.ts";

/** What a token costs in requests whose question is at most so long. */
@ObjectType("PriceTier", {
  description: "What each token of a request costs whose question is at most so long.",
  simpleResolvers: true,
})
export class PriceTierType {
  @Field(() => Int, { description: "The most tokens of a question in this tier." })
  maxInputTokens!: number;

  @Field(() => NeuronScalar, { description: "For one token of input." })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "For one token of output." })
  output!: bigint;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "For one token of input that the provider had in its cache, where that costs otherwise.",
  })
  cachedInput!: bigint | null;
}

/** What a unit costs. */
@ObjectType("Pricing", {
  description: "What a provider asks: for text per token, for images and audio per unit of its own.",
  simpleResolvers: true,
})
export class PricingType {
  @Field(() => NeuronScalar, { description: "For one token or unit of input." })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "For one token or unit of output." })
  output!: bigint;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "For one token of input that the provider had in its cache; null: as any other.",
  })
  cachedInput!: bigint | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "For one token of input that is written to its cache for minutes; null: as any other.",
  })
  cacheWrite!: bigint | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "For one token of input that is written to its cache for an hour; null: as for minutes.",
  })
  cacheWrite1h!: bigint | null;

  @Field(() => [PriceTierType], {
    description: "What shorter requests cost instead, the shortest first; empty when all cost the same.",
  })
  tiers!: readonly PriceTierType[];
}

/** What an offer costs. */
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
