import { formatUnits } from "viem";
import type { Hex } from "../../kernel/text/hex.ts";
import type { EvidenceFloor, TrustFloor } from "../../keys/api-keys/key-settings.ts";

/** Dollars times 10^18: exact for every amount that a header can contain. */
export type Usd = bigint;

/** The client's maximum prices: dollars per million tokens, or per image. */
export type PriceCaps = {
  readonly prompt?: Usd | undefined;
  readonly completion?: Usd | undefined;
  readonly image?: Usd | undefined;
};

/** How providers are ranked: by time to first byte, by cost, or by the tokens that they generate per second. */
export const PROVIDER_SORTS = ["latency", "price", "throughput"] as const;
export type ProviderSort = (typeof PROVIDER_SORTS)[number];

/** Maximum number of providers in a list of preferences. */
export const MAX_LISTED_PROVIDERS = 50;

/** The client's preferences for choosing a provider (SPEC 4.2, facts 1.4). All are optional. */
export type RoutingPreferences = {
  readonly sort?: ProviderSort | undefined;
  /** The only provider to use, in lower case: there is no fallback. */
  readonly pin?: Hex | undefined;
  /** Providers to try first, in this order, in lower case; the others follow by `sort`. */
  readonly order?: readonly Hex[] | undefined;
  /** The providers that may be used, in lower case; undefined for all. */
  readonly only?: readonly Hex[] | undefined;
  /** Providers that may not be used, in lower case. */
  readonly ignore?: readonly Hex[] | undefined;
  /** Whether another provider may be tried when the first fails. Defaults to true. */
  readonly allowFallbacks?: boolean | undefined;
  readonly trustMode?: TrustFloor | undefined;
  /** The proof that is required of the provider, and of its answer. */
  readonly evidence?: EvidenceFloor | undefined;
  readonly caps?: PriceCaps | undefined;
  /** The models to use, in this order, if no provider of the requested model answers. For chats only. */
  readonly fallbackModels?: readonly string[] | undefined;
  /**
   * An identifier of the conversation that the request belongs to. Requests of a conversation go to the provider that
   * has their prompt cached if that costs less and no other preference decides.
   */
  readonly sessionId?: string | undefined;
  /** The same, less specific: `prompt_cache_key`, or else `user` of OpenAI's requests. */
  readonly cacheKey?: string | undefined;
};

/** Maximum characters of a session id, as OpenRouter's. */
export const MAX_SESSION_ID = 256;

/** Characters of a cache key that count; OpenAI's own are shorter. */
export const MAX_CACHE_KEY = 1_024;

/**
 * The preferences of a request, by its body and its headers: headers take precedence field by field (facts 1.2), except
 * over `session_id`, as at OpenRouter.
 */
export function mergePreferences(
  body: RoutingPreferences,
  headers: RoutingPreferences | undefined,
): RoutingPreferences {
  const { sessionId = headers?.sessionId } = body;
  const caps = body.caps && headers?.caps && { ...body.caps, ...headers.caps };
  return { ...body, ...headers, ...(caps && { caps }), ...(sessionId !== undefined && { sessionId }) };
}

/** A price in dollars, for the published schemas too. */
export const USD_PATTERN = "^(0|[1-9]\\d{0,11})(\\.\\d{1,18})?$";
const DECIMAL = new RegExp(USD_PATTERN);
const USD_DIGITS = 18;
const TOKEN_DIGITS = 18;

/** Parses a decimal of at most 12 digits before and 18 after the point, exactly; undefined otherwise (promises F13). */
export function readUsd(text: string): Usd | undefined {
  const match = DECIMAL.exec(text);
  return match ? BigInt((match[1] ?? "") + (match[2]?.slice(1) ?? "").padEnd(USD_DIGITS, "0")) : undefined;
}

/** A price in neuron as dollars, exactly: a decimal without an exponent. `tokenUsd` are the dollars per token. */
export function priceInUsd(price: bigint, tokenUsd: Usd): string {
  return formatUnits(price * tokenUsd, TOKEN_DIGITS + USD_DIGITS);
}
