import QuickLru from "quick-lru";
import type { Clock } from "../../kernel/clock.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { Provider } from "../providers/provider.ts";
import type { Affinity } from "./ranking.ts";

/** Where the last prompt of a conversation is cached. */
type CachedPrompt = {
  readonly provider: Hex;
  /** Its tokens. */
  readonly tokens: number;
  /** The share of a prompt that the provider read from its cache when it could last be observed, 0 to 1. */
  readonly share: number;
  /** Monotonic. */
  readonly untilMs: number;
};

/** As long as providers keep an unused prefix at least: 5 to 10 minutes are usual. */
const CACHE_LIFE_MS = 300_000;
/** `QuickLru` has up to twice as many: less than 10 MB. */
const MAX_CONVERSATIONS = 10_000;

/**
 * Remembers for five minutes which provider answered a conversation last, and so has its prompt cached. In memory and
 * per process: other processes choose among equally cheap providers by the same hash, and learn of a failure when they
 * meet it. It has hashes of conversations, and no text.
 */
export class PromptCachesService {
  readonly #clock: Clock;
  readonly #known = new QuickLru<string, CachedPrompt>({ maxSize: MAX_CONVERSATIONS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The provider that answered this conversation last, and the tokens of a prompt that it has probably cached. */
  of(conversation: string, model: string): Affinity["warm"] {
    const known = this.#known.get(keyOf(conversation, model));
    if (!known || known.untilMs <= this.#clock.monotonicMs()) return undefined;
    return { provider: known.provider, tokens: Math.floor(known.tokens * known.share) };
  }

  /**
   * Records that a provider answered a request of a conversation. Its own counts of cached tokens correct the
   * expectation: a provider that read nothing, though it had seen the last prompt, is expected to read nothing again.
   * `isStated` is false if the usage is not the provider's own.
   */
  answered(
    conversation: string,
    { address: provider, model }: Pick<Provider, "address" | "model">,
    { inputTokens, cache }: TokenUsage,
    { isStated }: { readonly isStated: boolean },
  ): void {
    const key = keyOf(conversation, model);
    const nowMs = this.#clock.monotonicMs();
    const last = this.#known.get(key);
    const isSame = last !== undefined && last.provider === provider && last.untilMs > nowMs;
    this.#known.set(key, {
      provider,
      tokens: inputTokens,
      share: isSame ? shareOf(last, inputTokens, isStated ? (cache?.read ?? 0) : undefined) : 1,
      untilMs: nowMs + CACHE_LIFE_MS,
    });
  }
}

/** The part of what could have been cached that was read; unchanged if `read` is not known. */
function shareOf({ tokens, share }: CachedPrompt, inputTokens: number, read: number | undefined): number {
  const possible = Math.min(tokens, inputTokens);
  return read === undefined || possible === 0 ? share : Math.min(1, read / possible);
}

function keyOf(conversation: string, model: string): string {
  return `${conversation} ${model}`;
}
