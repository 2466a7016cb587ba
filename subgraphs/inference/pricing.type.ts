import "../shared/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Provider } from "../../src/inference/provider.ts";
import { NeuronScalar } from "../shared/scalars.ts";

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
}

/** What an offer costs. */
export function toPricing({ inputPrice, outputPrice }: Provider): PricingType {
  return { input: inputPrice, output: outputPrice };
}
