/** The usage and the prices of a request as they are recorded: neuron per token, and neuron. */
export type RecordedCost = {
  readonly inputTokens: number | bigint;
  readonly outputTokens: number | bigint;
  /** Tokens that were read from the provider's cache or written to it. */
  readonly cacheTokens: number | bigint;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly inputCost: bigint;
  readonly outputCost: bigint;
};

/**
 * What the provider's cache saved of a recorded request, neuron: the prompt at the recorded price of its tier, less what
 * was charged for it; 0 if writing to the cache cost more. Null if tokens were cached
 * and the balance did not cover the whole cost: then less was charged than the tokens cost.
 */
export function recordedSaving(recorded: RecordedCost): bigint | null {
  const { inputTokens, outputTokens, cacheTokens, inputPrice, outputPrice, inputCost, outputCost } = recorded;
  if (BigInt(cacheTokens) === 0n) return 0n;
  if (outputCost < BigInt(outputTokens) * outputPrice) return null;
  const saving = BigInt(inputTokens) * inputPrice - inputCost;
  return saving > 0n ? saving : 0n;
}
