import { z } from "zod";
import type { CachePrice, PriceTier } from "./pricing.ts";

/** Maximum number of tiers of a price. */
export const MAX_TIERS = 16;
const neuron = z.string().regex(/^(0|[1-9]\d{0,30})$/);
const price = neuron.transform(BigInt).optional().catch(undefined);
const Tier = z
  .object({
    MaxInputTokens: z.int().min(1).max(100_000_000),
    PromptPrice: neuron.transform(BigInt),
    CompletionPrice: neuron.transform(BigInt),
    CachedPromptPrice: neuron.transform(BigInt).optional(),
  })
  .transform((stated) => ({
    maxInputTokens: stated.MaxInputTokens,
    inputPrice: stated.PromptPrice,
    outputPrice: stated.CompletionPrice,
    cacheReadPrice: stated.CachedPromptPrice,
  }));
const FinerPrice = z.object({
  CachedPromptPrice: price,
  CacheWritePrice: price,
  CacheWrite1hPrice: price,
  TieredPricing: z.array(Tier).max(MAX_TIERS).refine(isAscending).optional().catch(undefined),
});

/** The parts of a price beyond one number per side. */
export type FinerPrice = {
  readonly cachePrice: CachePrice | undefined;
  readonly tiers: readonly PriceTier[] | undefined;
};

/**
 * Reads the detailed price, neuron per token as text, from a registry row's `additionalInfo`: the contract has no
 * field for it, and the names are ours in the style of the published ones. Invalid values are ignored; one invalid
 * tier discards the whole list.
 */
export function finerPriceOf(additionalInfo: string): FinerPrice {
  const info = FinerPrice.safeParse(parse(additionalInfo)).data;
  const { CachedPromptPrice: read, CacheWritePrice: write, CacheWrite1hPrice: write1h } = info ?? {};
  const hasCache = [read, write, write1h].some((stated) => stated !== undefined);
  const tiers = info?.TieredPricing;
  return {
    cachePrice: hasCache ? { read, write, write1h } : undefined,
    tiers: tiers && tiers.length > 0 ? tiers : undefined,
  };
}

/** Whether tiers are in strictly ascending order of their lengths, from 1. */
export function isAscending(tiers: readonly Pick<PriceTier, "maxInputTokens">[]): boolean {
  return tiers.every(({ maxInputTokens }, at) => maxInputTokens > (tiers[at - 1]?.maxInputTokens ?? 0));
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
