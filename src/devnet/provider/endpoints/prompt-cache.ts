import { createHash } from "node:crypto";
import QuickLru from "quick-lru";

/** Prefixes of prompts that a provider keeps, and for how long unused: as real ones do, minutes. */
const MAX_PREFIXES = 10_000;
const LIFE_MS = 300_000;
/** A shorter prefix is not cached. */
const MIN_TOKENS = 32;

type CountTokens = (messages: readonly unknown[]) => number | Promise<number>;

/**
 * The prompt cache of a stand-in provider: whole prompts, and their system prompts, by a hash of their messages. A
 * prompt that begins with the messages of an earlier one is read from the cache up to there.
 */
export class PromptCache {
  readonly #countTokens: CountTokens;
  /** The tokens of each prefix. */
  readonly #prefixes = new QuickLru<string, number>({ maxSize: MAX_PREFIXES, maxAge: LIFE_MS });

  constructor(countTokens: CountTokens) {
    this.#countTokens = countTokens;
  }

  /** The tokens of the longest known prefix of this prompt, which is known from now on. At most `promptTokens`. */
  async read(messages: readonly unknown[], promptTokens: number): Promise<number> {
    const hash = createHash("sha256");
    const prefixes = messages.map((message) =>
      hash
        .update(`${JSON.stringify(message)}\n`)
        .copy()
        .digest("base64url"),
    );
    const longest = prefixes.findLast((prefix) => this.#prefixes.has(prefix));
    const cached = (longest !== undefined && this.#prefixes.get(longest)) || 0;
    const [system] = prefixes;
    if (isSystem(messages[0]) && system !== undefined)
      this.#prefixes.set(
        system,
        this.#prefixes.get(system) ?? (await this.#countTokens(messages.slice(0, 1))),
      );
    const whole = prefixes.at(-1);
    if (whole !== undefined) this.#prefixes.set(whole, promptTokens);
    return cached < MIN_TOKENS ? 0 : Math.min(cached, promptTokens);
  }
}

function isSystem(message: unknown): boolean {
  const { role } = Object(message) as { readonly role?: unknown };
  return role === "system" || role === "developer";
}
