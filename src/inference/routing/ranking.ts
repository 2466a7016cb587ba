import type { Hex } from "../../kernel/text/hex.ts";
import { costOf, ratesFor } from "../billing/pricing.ts";
import { byPrice, type Provider, type ServiceType } from "../providers/provider.ts";
import type { RoutingPreferences } from "./routing-preferences.ts";

/** The conversation of a request, and where the start of its prompt is cached. */
export type Affinity = {
  /** Identifies the conversation, in every process alike: see `conversationOf`. */
  readonly conversation: string;
  /** The provider that answered it last, and the tokens of this prompt that it has probably cached. */
  readonly warm?: { readonly provider: Hex; readonly tokens: number } | undefined;
  /** Whether the prompt has text that only the provider that answered last can read. */
  readonly isBound?: boolean;
};

/** What providers are ranked for. Tokens are estimates. */
type RankedRequest = {
  readonly preferences: RoutingPreferences;
  readonly serviceType: ServiceType;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
};

/** What was measured of a provider: see `ProviderState`. */
type Measured = {
  readonly latencyMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
  readonly inFlight: number;
};

/** Whether a preference of the client decides which provider comes first. */
export function isRankedByClient({ pin, sort, order = [] }: RoutingPreferences): boolean {
  return pin !== undefined || sort !== undefined || order.length > 0;
}

/** Whether a provider charges less for prompt tokens that it has cached. */
export function hasCheaperCache(offer: Provider, inputTokens: number): boolean {
  if (offer.cachePrice?.read === undefined && offer.tiers === undefined) return false;
  const { input, cacheRead } = ratesFor(offer, inputTokens);
  return cacheRead < input;
}

/**
 * Orders offers by the client's list, then by its preference, otherwise by the estimated cost of this request; ties by
 * load, then by latency. A provider without recent requests counts as fast, so that it is tried and measured.
 *
 * With an `affinity`, the cost at the provider that has the prompt cached is that of cached tokens. Ties go to the
 * lowest price of cached tokens, so that the next requests of the conversation cost less, then to the provider that
 * answered last, then to the one with the highest weight for the conversation. A prompt that only the provider that
 * answered last can read goes to that provider, whatever it costs.
 */
export function byPreferences(
  { preferences: { sort, order = [] }, serviceType, inputTokens = 1, outputTokens = 1 }: RankedRequest,
  states: ReadonlyMap<Provider, Measured>,
  affinity: Affinity | undefined,
) {
  const latency = (offer: Provider) => states.get(offer)?.latencyMs ?? 0;
  const speed = (offer: Provider) => states.get(offer)?.tokensPerSecond ?? Number.POSITIVE_INFINITY;
  const place = ({ address }: Provider) => (order.includes(address) ? order.indexOf(address) : order.length);
  const load = (offer: Provider) => states.get(offer)?.inFlight ?? 0;
  const { warm } = affinity ?? {};
  const tokens = { inputTokens, outputTokens };
  const whole = serviceType === "chatbot" ? tokens : { inputUnits: 0, outputUnits: 1 };
  const cached = warm && {
    ...tokens,
    cache: { read: Math.min(warm.tokens, inputTokens), write: 0, write1h: 0 },
  };
  const isWarm = ({ address }: Provider) => address === warm?.provider;
  const cost = (offer: Provider) => costOf(cached && isWarm(offer) ? cached : whole, offer).total;
  return (a: Provider, b: Provider): number => {
    if (order.length > 0 && place(a) !== place(b)) return place(a) - place(b);
    if (sort === "throughput" && speed(a) !== speed(b)) return speed(a) > speed(b) ? -1 : 1;
    if (sort === "latency" && latency(a) !== latency(b)) return latency(a) - latency(b);
    if (affinity?.isBound && isWarm(a) !== isWarm(b)) return isWarm(a) ? -1 : 1;
    const costDifference = cost(a) - cost(b);
    if (costDifference !== 0n) return costDifference < 0n ? -1 : 1;
    if (affinity) {
      const cacheDifference = ratesFor(a, inputTokens).cacheRead - ratesFor(b, inputTokens).cacheRead;
      if (cacheDifference !== 0n) return cacheDifference < 0n ? -1 : 1;
      if (isWarm(a) !== isWarm(b)) return isWarm(a) ? -1 : 1;
      const weightDifference = weightOf(affinity.conversation, b) - weightOf(affinity.conversation, a);
      if (weightDifference !== 0) return weightDifference;
    }
    return load(a) - load(b) || latency(a) - latency(b) || byPrice(a, b);
  };
}

/**
 * The weight of a provider for a conversation, 0 to 2^32 - 1 (rendezvous hashing): every process prefers the same
 * provider, conversations spread evenly, and only those of a provider that is left out move elsewhere. FNV-1a, then the
 * finalizer of MurmurHash3; the conversation is a SHA-256 that no provider knows, so none can choose a lucky address.
 */
function weightOf(conversation: string, { address }: Provider): number {
  let mixed = 0x811c9dc5;
  for (const text of [conversation, address])
    for (let at = 0; at < text.length; at++) mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
