/** One line of the calculation of a cost. Amounts are neuron; `count` and `price` are missing for a correction. */
export type PriceLine = {
  readonly name: string;
  readonly count?: bigint;
  readonly unit?: string;
  readonly price?: bigint;
  readonly amount: bigint;
  /** Why there is the line. */
  readonly note?: string;
};

type Billed = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly cacheWrite1hTokens: number | null;
  readonly cachedFrom: string | null;
  readonly prices: { readonly input: string; readonly output: string };
  readonly cost: { readonly input: string; readonly output: string; readonly cacheSaving: string | null };
};

/**
 * How the cost of a request came about, from what is stored: tokens times prices, and what differs from it. The prices of
 * cached tokens are not stored, so what the cache changed is one line. The amounts add up to the cost.
 */
export function priceLinesOf(request: Billed): readonly PriceLine[] {
  const { prices, cost, inputTokens, outputTokens } = request;
  if (inputTokens === null && outputTokens === null)
    return [
      ...unitLines("Input", BigInt(prices.input), BigInt(cost.input)),
      ...unitLines("Output", BigInt(prices.output), BigInt(cost.output)),
    ];
  const input = tokenLine("Input tokens", inputTokens ?? 0, prices.input);
  const output = tokenLine("Output tokens", outputTokens ?? 0, prices.output);
  return [
    input,
    ...inputDifference(request, BigInt(cost.input) - input.amount),
    output,
    ...shortfall(request, BigInt(cost.output) - output.amount),
  ];
}

function tokenLine(name: string, count: number, price: string) {
  return {
    name,
    count: BigInt(count),
    unit: "tokens",
    price: BigInt(price),
    amount: BigInt(count) * BigInt(price),
  };
}

/** Images, seconds of audio or characters: their count follows from the cost, which is a multiple of the price. */
function unitLines(name: string, price: bigint, amount: bigint): readonly PriceLine[] {
  if (price === 0n || amount === 0n) return [];
  if (amount % price !== 0n) return [{ name, amount, note: "The balance did not cover the whole cost." }];
  return [{ name, count: amount / price, unit: "units", price, amount }];
}

function inputDifference(request: Billed, difference: bigint): readonly PriceLine[] {
  if (difference === 0n) return [];
  const { cachedTokens, cacheWriteTokens, cacheWrite1hTokens, cachedFrom, cost } = request;
  const written = (cacheWriteTokens ?? 0) + (cacheWrite1hTokens ?? 0);
  const isCached = (cachedTokens ?? 0) + written > 0;
  if (cachedFrom !== null || !isCached || cost.cacheSaving === null) return shortfall(request, difference);
  const count = (tokens: number) => tokens.toLocaleString("en");
  const parts = [
    ...(cachedTokens ? [`${count(cachedTokens)} of the tokens were read from the provider's cache`] : []),
    ...(written > 0 ? [`${count(written)} were written to it`] : []),
  ];
  const name = difference < 0n ? "Saved by the provider's cache" : "Written to the provider's cache";
  return [{ name, amount: difference, note: `${parts.join(", ")}.` }];
}

function shortfall({ cachedFrom }: Billed, difference: bigint): readonly PriceLine[] {
  if (difference === 0n) return [];
  if (cachedFrom !== null)
    return [
      { name: "Stored answer", amount: difference, note: "The answer was stored: no provider was paid." },
    ];
  return [{ name: "Not charged", amount: difference, note: "More than the hold and the balance covered." }];
}
