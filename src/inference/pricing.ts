/** What a provider asks, in neuron per token, as its on-chain row says (facts 1.3). */
export type Price = { readonly inputPrice: bigint; readonly outputPrice: bigint };
/** Tokens that a request used, as integers of 0 to 2^53 - 1. `cache` tells of the input's share, where it is known. */
export type TokenUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cache?: CacheTokens;
};
/** Tokens of a question that the provider read from its cache, or wrote into it for minutes or for an hour. */
type CacheTokens = { readonly read: number; readonly write: number; readonly write1h: number };
/** What a request costs, neuron. */
export type Cost = { readonly input: bigint; readonly output: bigint; readonly total: bigint };

/** Tokens times price, exactly. */
export function costOf(usage: TokenUsage, price: Price): Cost {
  const input = BigInt(usage.inputTokens) * price.inputPrice;
  const output = BigInt(usage.outputTokens) * price.outputPrice;
  return { input, output, total: input + output };
}

/** What must be set aside before a request, neuron. */
export type Quote = { readonly minimum: bigint; readonly maximum: bigint };

/**
 * Quotes a request before it runs. A client who limits the answer is held for just that; one who does not is held
 * for `modelLimit` tokens or for what the balance affords, at the least one token of answer.
 */
export function quoteChat(
  ask: { promptTokens: number; maxTokens: number | undefined; modelLimit: number; choices: number },
  price: Price,
): Quote {
  const { promptTokens, maxTokens, modelLimit, choices } = ask;
  const answered = (tokens: number) =>
    costOf({ inputTokens: promptTokens, outputTokens: tokens * choices }, price).total;
  const maximum = answered(maxTokens ?? modelLimit);
  return { minimum: maxTokens === undefined ? answered(1) : maximum, maximum };
}

/** How long each answer may get for the amount that was held, in tokens. */
export function affordableTokens(
  ask: { promptTokens: number; modelLimit: number; choices: number },
  price: Price,
  held: bigint,
): number {
  if (price.outputPrice === 0n) return ask.modelLimit;
  const left = held - BigInt(ask.promptTokens) * price.inputPrice;
  const tokens = left / (price.outputPrice * BigInt(ask.choices));
  return tokens < BigInt(ask.modelLimit) ? Number(tokens) : ask.modelLimit;
}
