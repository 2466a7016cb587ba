import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { priceInUsd, type Usd } from "../../../src/inference/routing/routing-preferences.ts";
import { DecimalScalar } from "../../shared/schema/scalars.ts";
import { toPricing } from "./pricing.type.ts";

/** The prices in dollars for requests up to a prompt length. */
@ObjectType("PriceTierUsd", {
  description:
    "The prices per token in US dollars for requests whose prompt has at most `maxInputTokens` tokens.",
  simpleResolvers: true,
})
export class PriceTierUsdType {
  @Field(() => Int, { description: "The maximum number of prompt tokens of this tier." })
  maxInputTokens!: number;

  @Field(() => DecimalScalar, { description: "The price of one input token in US dollars." })
  input!: string;

  @Field(() => DecimalScalar, { description: "The price of one output token in US dollars." })
  output!: string;

  @Field(() => DecimalScalar, {
    nullable: true,
    description:
      "The price in US dollars of one input token read from the provider's cache. Null if it is the price of any " +
      "input token.",
  })
  cachedInput!: string | null;
}

/** The prices of a provider in dollars. */
@ObjectType("PricingUsd", {
  description:
    "The prices of `Pricing` in US dollars, at the router's present price of the token. They are not rounded; the " +
    "bill is always in neuron.",
  simpleResolvers: true,
})
export class PricingUsdType {
  @Field(() => DecimalScalar, { description: "The price of one input token or unit in US dollars." })
  input!: string;

  @Field(() => DecimalScalar, { description: "The price of one output token or unit in US dollars." })
  output!: string;

  @Field(() => DecimalScalar, {
    nullable: true,
    description:
      "The price in US dollars of one input token read from the provider's cache. Null if it is the `input` price.",
  })
  cachedInput!: string | null;

  @Field(() => DecimalScalar, {
    nullable: true,
    description:
      "The price in US dollars of one input token written to the provider's cache with a lifetime of minutes. Null if it is the " +
      "`input` price.",
  })
  cacheWrite!: string | null;

  @Field(() => DecimalScalar, {
    nullable: true,
    description:
      "The price in US dollars of one input token written to the provider's cache for an hour. Null if it is the " +
      "`cacheWrite` price.",
  })
  cacheWrite1h!: string | null;

  @Field(() => [PriceTierUsdType], {
    description:
      "Prices for prompts up to a given length, shortest first. Prompts longer than every tier pay the prices above. Empty if the prices do not depend on the prompt's length.",
  })
  tiers!: readonly PriceTierUsdType[];
}

/** A provider's prices in dollars; null while the token's price is unknown. */
export function toPricingUsd(offer: Provider, tokenUsd: Usd | undefined): PricingUsdType | null {
  if (tokenUsd === undefined) return null;
  const usd = (price: bigint) => priceInUsd(price, tokenUsd);
  const orNull = (price: bigint | null) => (price === null ? null : usd(price));
  const { input, output, cachedInput, cacheWrite, cacheWrite1h, tiers } = toPricing(offer);
  return {
    input: usd(input),
    output: usd(output),
    cachedInput: orNull(cachedInput),
    cacheWrite: orNull(cacheWrite),
    cacheWrite1h: orNull(cacheWrite1h),
    tiers: tiers.map((tier) => ({
      maxInputTokens: tier.maxInputTokens,
      input: usd(tier.input),
      output: usd(tier.output),
      cachedInput: orNull(tier.cachedInput),
    })),
  };
}
