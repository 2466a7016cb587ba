import { exactToken } from "../../kernel/text/amount.ts";
import { ExactNumber } from "../../kernel/text/exact-json.ts";
import { priceInUsd, type Usd } from "../routing/routing-preferences.ts";

/**
 * The charge of a request as the `usage` of its answer shows it, in the network's token and, if the router knows the
 * token's price, in dollars: JSON numbers, as at OpenRouter, with all their digits.
 */
export type ShownCost = { readonly cost: ExactNumber; readonly cost_usd?: ExactNumber };

/** The cost that an answer shows for this charge, neuron; `tokenUsd` are the dollars per token. */
export function shownCost(charged: bigint, tokenUsd: Usd | undefined): ShownCost {
  return {
    cost: exactToken(charged),
    ...(tokenUsd !== undefined && { cost_usd: new ExactNumber(priceInUsd(charged, tokenUsd)) }),
  };
}
