import { useMemo } from "react";
import { useQuery } from "urql";
import { graphql } from "./graph.ts";

const PRICES = graphql(`
  query TokenPrice { models(first: 20) { nodes { pricing { input } pricingUsd { input } } } }
`);

/**
 * The price of a token in US dollars; undefined where the router does not know it (`TOKEN_USD`). It follows from a
 * price that the graph states in both units, without rounding.
 */
export function useUsdPerToken(): number | undefined {
  const [{ data }] = useQuery({ query: PRICES, requestPolicy: "cache-first" });
  return useMemo(() => {
    for (const { pricing, pricingUsd } of data?.models?.nodes ?? [])
      if (pricingUsd && pricing && pricing.input !== "0")
        return Number(pricingUsd.input) / (Number(pricing.input) / 1e18);
    return undefined;
  }, [data]);
}
