import { createContext, type ReactNode, useContext, useMemo } from "react";
import { useQuery } from "urql";
import { graphql } from "./query/graph.ts";

const PRICES = graphql(`
  query TokenPrice {
    models(first: 1, orderBy: { field: PRICE, direction: DESC }) {
      nodes { pricing { input output } pricingUsd { input output } }
    }
  }
`);

const UsdPerToken = createContext<number | undefined>(undefined);

/**
 * Provides the price of a token in US dollars. It follows from the highest price, which the graph states in both units
 * without rounding: all others may be 0.
 */
export function TokenPriceProvider({ children }: { children: ReactNode }) {
  const [{ data }] = useQuery({ query: PRICES, requestPolicy: "cache-first" });
  const price = useMemo(() => {
    // Images have a price of their output only.
    for (const { pricing, pricingUsd } of data?.models?.nodes ?? [])
      for (const unit of ["input", "output"] as const)
        if (pricingUsd && pricing && pricing[unit] !== "0")
          return Number(pricingUsd[unit]) / (Number(pricing[unit]) / 1e18);
    return undefined;
  }, [data]);
  return <UsdPerToken value={price}>{children}</UsdPerToken>;
}

/** The price of a token in US dollars; undefined where the router does not know it (`TOKEN_USD`). */
export function useUsdPerToken(): number | undefined {
  return useContext(UsdPerToken);
}
