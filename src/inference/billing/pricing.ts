import { recordedSaving } from "../../accounts/usage/cache-saving.ts";

/**
 * A provider's price in neuron per token or other unit: from its on-chain row (facts 1.3), and for chats in more
 * detail from `additionalInfo` or PROVIDERS_FILE.
 */
export type Price = {
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly cachePrice?: CachePrice | undefined;
  /** By prompt length, shortest first. */
  readonly tiers?: readonly PriceTier[] | undefined;
};
/**
 * Prices of prompt tokens read from the cache, or written to it for minutes or for an hour; default: the input price.
 */
export type CachePrice = {
  readonly read?: bigint | undefined;
  readonly write?: bigint | undefined;
  readonly write1h?: bigint | undefined;
};
/** The prices of all tokens of a request whose prompt has at most `maxInputTokens`. */
export type PriceTier = {
  readonly maxInputTokens: number;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly cacheReadPrice?: bigint | undefined;
};
/** Tokens that a request used, integers from 0 to 2^53 - 1. `cache` is the cached share of the input, if known. */
export type TokenUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cache?: CacheTokens;
  /** The part of the output that the provider reports as reasoning. It is not priced. */
  readonly reasoningTokens?: number;
};
/** Usage that is not counted in tokens: images, seconds of transcribed audio, or characters of speech. Integers. */
export type UnitUsage = { readonly inputUnits: number; readonly outputUnits: number };
/** Billed usage: each count is multiplied by the price of its side. */
export type Usage = TokenUsage | UnitUsage;
/**
 * Prompt tokens that the provider read from its cache, or wrote to it for minutes or for an hour: together at most
 * the tokens of the prompt.
 */
export type CacheTokens = { readonly read: number; readonly write: number; readonly write1h: number };
/** The cost of a request, neuron. */
export type Cost = { readonly input: bigint; readonly output: bigint; readonly total: bigint };
/** The price of each token of one request, neuron: prompt tokens are priced by how the cache was involved. */
export type Rates = {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly cacheWrite1h: bigint;
};

/**
 * The rates for a prompt of `inputTokens`: those of the first tier that is long enough. Beyond the last tier, the
 * higher of its rates and the rates without tiers, so that a list that ends too early does not undercharge.
 */
export function ratesFor(price: Price, inputTokens: number): Rates {
  const { tiers } = price;
  const tier = tiers?.find(({ maxInputTokens }) => inputTokens <= maxInputTokens);
  if (tier) return ratesOf(price, tier);
  const own = ratesOf(price, price);
  const last = tiers?.at(-1);
  return last ? higherRates(own, ratesOf(price, last)) : own;
}

/** Counts times rates, in exact arithmetic. */
export function costOf(usage: Usage, price: Price): Cost {
  if ("inputUnits" in usage) {
    const input = BigInt(usage.inputUnits) * price.inputPrice;
    const output = BigInt(usage.outputUnits) * price.outputPrice;
    return { input, output, total: input + output };
  }
  const rates = ratesFor(price, usage.inputTokens);
  const input = inputCost(usage, rates);
  const output = BigInt(usage.outputTokens) * rates.output;
  return { input, output, total: input + output };
}

/**
 * What the provider's cache saved of a request that is charged `billed`, neuron: that of the recorded request. Null if
 * tokens were cached and less was charged than they cost.
 */
export function cacheSavingOf(usage: Usage, price: Price, billed: Cost): bigint | null {
  if ("inputUnits" in usage || !usage.cache) return 0n;
  const { inputTokens, outputTokens, cache } = usage;
  const { input: inputPrice, output: outputPrice } = ratesFor(price, inputTokens);
  return recordedSaving({
    ...{ inputTokens, outputTokens, inputPrice, outputPrice },
    cacheTokens: cache.read + cache.write + cache.write1h,
    inputCost: billed.input,
    outputCost: billed.output,
    wholeInputCost: costOf(usage, price).input,
  });
}

/** Splits the charged amount into input, which is filled first, and output (`settlements.store.ts`). */
export function billedOf({ input }: Cost, charged: bigint): Cost {
  const billedInput = input < charged ? input : charged;
  return { input: billedInput, output: charged - billedInput, total: charged };
}

/** The amount to hold before a request, neuron. */
export type Quote = { readonly minimum: bigint; readonly maximum: bigint };

/**
 * Quotes a request before it runs. With a limit on the answer, the hold covers exactly that limit; without one, it
 * covers `modelLimit` tokens or what the balance affords, at least one token of answer. The hold is sufficient for
 * any cache use and any tier, as long as the provider counts no more tokens than we do.
 */
export function quoteChat(
  size: { promptTokens: number; maxTokens: number | undefined; modelLimit: number; choices: number },
  price: Price,
): Quote {
  const { promptTokens, maxTokens, modelLimit, choices } = size;
  const bounds = boundsOf(price, promptTokens);
  const answered = (tokens: number) => {
    let most = 0n;
    for (const { input, output } of bounds) most = greater(most, input + BigInt(tokens * choices) * output);
    return most;
  };
  const maximum = answered(maxTokens ?? modelLimit);
  return { minimum: maxTokens === undefined ? answered(1) : maximum, maximum };
}

/** Quotes usage that is known in advance. */
export function quoteUnits(usage: UnitUsage, price: Price): Quote {
  const { total } = costOf(usage, price);
  return { minimum: total, maximum: total };
}

/** Maximum tokens of each answer that the held amount covers. */
export function affordableTokens(
  size: { promptTokens: number; modelLimit: number; choices: number },
  price: Price,
  held: bigint,
): number {
  return boundsOf(price, size.promptTokens).reduce((least, { input, output }) => {
    if (output === 0n) return least;
    const tokens = (held - input) / (output * BigInt(size.choices));
    return tokens < BigInt(least) ? Number(tokens) : least;
  }, size.modelLimit);
}

function ratesOf({ cachePrice }: Price, base: Omit<PriceTier, "maxInputTokens">): Rates {
  const { inputPrice: input, outputPrice: output, cacheReadPrice } = base;
  const cacheWrite = cachePrice?.write ?? input;
  return {
    input,
    output,
    cacheRead: cacheReadPrice ?? cachePrice?.read ?? input,
    cacheWrite,
    cacheWrite1h: cachePrice?.write1h ?? cacheWrite,
  };
}

function higherRates(one: Rates, other: Rates): Rates {
  const of = (name: keyof Rates) => (one[name] > other[name] ? one[name] : other[name]);
  return {
    input: of("input"),
    output: of("output"),
    cacheRead: of("cacheRead"),
    cacheWrite: of("cacheWrite"),
    cacheWrite1h: of("cacheWrite1h"),
  };
}

function inputCost({ inputTokens, cache }: TokenUsage, rates: Rates): bigint {
  if (!cache) return BigInt(inputTokens) * rates.input;
  const { read, write, write1h } = cache;
  const fresh = inputTokens - read - write - write1h;
  return (
    BigInt(fresh) * rates.input +
    BigInt(read) * rates.cacheRead +
    BigInt(write) * rates.cacheWrite +
    BigInt(write1h) * rates.cacheWrite1h
  );
}

/**
 * The maximum cost of a prompt of at most `promptTokens`, with the matching price of an answer token: one pair for
 * each tier that may apply to the prompt.
 */
function boundsOf(price: Price, promptTokens: number): readonly Bound[] {
  const bounds = [boundOf(price, promptTokens)];
  for (const { maxInputTokens } of price.tiers ?? [])
    if (maxInputTokens < promptTokens) bounds.push(boundOf(price, maxInputTokens));
  return bounds;
}

type Bound = { readonly input: bigint; readonly output: bigint };

function boundOf(price: Price, promptTokens: number): Bound {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h } = ratesFor(price, promptTokens);
  const highest = greater(greater(input, cacheRead), greater(cacheWrite, cacheWrite1h));
  return { input: BigInt(promptTokens) * highest, output };
}

function greater(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
