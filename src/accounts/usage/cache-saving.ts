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
  /**
   * What the input cost before the balance was found to be short. Recorded only of requests with cached tokens whose
   * output costs nothing: what was charged for the output shows it of all others.
   */
  readonly wholeInputCost?: bigint | undefined;
};

/**
 * What the provider's cache saved of a recorded request, neuron: the prompt at the recorded price of its tier, less what
 * was charged for it; 0 if writing to the cache cost more. Null if tokens were cached
 * and the balance did not cover the whole cost: then less was charged than the tokens cost.
 */
export function recordedSaving(recorded: RecordedCost): bigint | null {
  const { inputTokens, outputTokens, cacheTokens, inputPrice, outputPrice, inputCost, outputCost } = recorded;
  const { wholeInputCost = inputCost } = recorded;
  if (BigInt(cacheTokens) === 0n) return 0n;
  if (outputCost < BigInt(outputTokens) * outputPrice || inputCost < wholeInputCost) return null;
  const saving = BigInt(inputTokens) * inputPrice - inputCost;
  return saving > 0n ? saving : 0n;
}
