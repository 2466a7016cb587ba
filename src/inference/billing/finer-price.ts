import { z } from "zod";
import type { CachePrice, PriceTier } from "./pricing.ts";

/** The most tiers that a price may have. */
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

/** What a price says beyond one number for each side. */
export type FinerPrice = {
  readonly cachePrice: CachePrice | undefined;
  readonly tiers: readonly PriceTier[] | undefined;
};

/**
 * Reads what a registry row's `additionalInfo` says of its price beyond the row, neuron per token as text: the
 * contract has no field for it, and the names are ours in the style of the published ones. What is not as it should
 * be is left out, a list of tiers as a whole.
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

/** Whether tiers are in the order of their lengths, each longer than the one before. */
export function isAscending(tiers: readonly Pick<PriceTier, "maxInputTokens">[]): boolean {
  return tiers.every(
    ({ maxInputTokens }, at) => at === 0 || maxInputTokens > (tiers[at - 1]?.maxInputTokens ?? 0),
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
