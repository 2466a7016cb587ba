import { formatToken } from "../../kernel/text/amount.ts";
import { priceInUsd, type Usd } from "../routing/routing-preferences.ts";

/**
 * The charge of a request as the `usage` of its answer shows it: exact decimals, in the network's token and, if the
 * router knows the token's price, in dollars.
 */
export type ShownCost = { readonly cost: string; readonly cost_usd?: string };

/** The cost that an answer shows for this charge, neuron; `tokenUsd` are the dollars per token. */
export function shownCost(charged: bigint, tokenUsd: Usd | undefined): ShownCost {
  return {
    cost: formatToken(charged),
    ...(tokenUsd !== undefined && { cost_usd: priceInUsd(charged, tokenUsd) }),
  };
}
