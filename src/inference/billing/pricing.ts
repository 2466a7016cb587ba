/**
 * What a provider asks, in neuron per token or other unit: as its on-chain row says (facts 1.3), and for chats more
 * finely where `additionalInfo` or PROVIDERS_FILE do.
 */
export type Price = {
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly cachePrice?: CachePrice | undefined;
  /** By the length of the question, shortest first. */
  readonly tiers?: readonly PriceTier[] | undefined;
};
/** What tokens of a question cost that a cache had, or was given for minutes or for an hour; else what all tokens cost. */
export type CachePrice = {
  readonly read?: bigint | undefined;
  readonly write?: bigint | undefined;
  readonly write1h?: bigint | undefined;
};
/** What a request costs in all its tokens whose question is at most so long. */
export type PriceTier = {
  readonly maxInputTokens: number;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly cacheReadPrice?: bigint | undefined;
};
/** Tokens that a request used, as integers of 0 to 2^53 - 1. `cache` tells of the input's share, where it is known. */
export type TokenUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cache?: CacheTokens;
};
/** What a request used that is not counted in tokens: images that were made, or seconds that were heard. Integers. */
export type UnitUsage = { readonly inputUnits: number; readonly outputUnits: number };
/** What is billed: each count times the price of its side. */
export type Usage = TokenUsage | UnitUsage;
/**
 * Tokens of a question that the provider read from its cache, or wrote into it for minutes or for an hour: together
 * no more than the question has.
 */
export type CacheTokens = { readonly read: number; readonly write: number; readonly write1h: number };
/** What a request costs, neuron. */
export type Cost = { readonly input: bigint; readonly output: bigint; readonly total: bigint };
/** What each token of one request costs, neuron: those of its question by how the cache had to do with them. */
export type Rates = {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly cacheWrite1h: bigint;
};

/**
 * The rates for a question of so many tokens: of the first tier that is long enough; behind the last one, the dearer
 * of that and of the price without tiers, so that a list with a gap at its end gives nothing away.
 */
export function ratesFor(price: Price, inputTokens: number): Rates {
  const { tiers } = price;
  const tier = tiers?.find(({ maxInputTokens }) => inputTokens <= maxInputTokens);
  if (tier) return ratesOf(price, tier);
  const own = ratesOf(price, price);
  const last = tiers?.at(-1);
  return last ? dearer(own, ratesOf(price, last)) : own;
}

/** Counts times rates, exactly. */
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

/** The parts of a cost that were charged, the input first: their sum is what was charged (`settlements.store.ts`). */
export function billedOf({ input }: Cost, charged: bigint): Cost {
  const billedInput = input < charged ? input : charged;
  return { input: billedInput, output: charged - billedInput, total: charged };
}

/** What must be set aside before a request, neuron. */
export type Quote = { readonly minimum: bigint; readonly maximum: bigint };

/**
 * Quotes a request before it runs. A client who limits the answer is held for just that; one who does not is held
 * for `modelLimit` tokens or for what the balance affords, at the least one token of answer. Whatever the provider's
 * cache has to do with the question, and whichever tier it counts it into, so long as it counts no more than we do.
 */
export function quoteChat(
  ask: { promptTokens: number; maxTokens: number | undefined; modelLimit: number; choices: number },
  price: Price,
): Quote {
  const { promptTokens, maxTokens, modelLimit, choices } = ask;
  const bounds = boundsOf(price, promptTokens);
  const answered = (tokens: number) => {
    let most = 0n;
    for (const { input, output } of bounds) most = greater(most, input + BigInt(tokens * choices) * output);
    return most;
  };
  const maximum = answered(maxTokens ?? modelLimit);
  return { minimum: maxTokens === undefined ? answered(1) : maximum, maximum };
}

/** Quotes what is known beforehand: so many units of each side. */
export function quoteUnits(usage: UnitUsage, price: Price): Quote {
  const { total } = costOf(usage, price);
  return { minimum: total, maximum: total };
}

/** How long each answer may get for the amount that was held, in tokens. */
export function affordableTokens(
  ask: { promptTokens: number; modelLimit: number; choices: number },
  price: Price,
  held: bigint,
): number {
  return boundsOf(price, ask.promptTokens).reduce((least, { input, output }) => {
    if (output === 0n) return least;
    const tokens = (held - input) / (output * BigInt(ask.choices));
    return tokens < BigInt(least) ? Number(tokens) : least;
  }, ask.modelLimit);
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

function dearer(one: Rates, other: Rates): Rates {
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
 * The most that a question of at most so many tokens can cost, with what a token of its answer costs then: one pair
 * for each tier that it may be counted into.
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
  const dearest = greater(greater(input, cacheRead), greater(cacheWrite, cacheWrite1h));
  return { input: BigInt(promptTokens) * dearest, output };
}

function greater(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
