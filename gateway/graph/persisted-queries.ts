import { createHash } from "node:crypto";
import { ByteLru } from "../../src/kernel/byte-lru.ts";
import type { OperationPayload, Policy } from "../federation/policy/policy.ts";

/** The prefix of Apollo Server's keys. */
const PREFIX = "apq:";
const MAX_BYTES = 16 * 1_048_576;

/**
 * Documents that clients registered by their hash, with Apollo's protocol of persisted queries. Apollo Server uses the
 * same store for the requests that it answers, through `get`, `set` and `delete`.
 */
export class PersistedQueries {
  readonly #texts = new ByteLru<string>({ maxBytes: MAX_BYTES });

  async get(key: string): Promise<string | undefined> {
    return this.#texts.get(key);
  }

  async set(key: string, text: string): Promise<void> {
    this.#texts.set(key, text, 2 * (key.length + text.length));
  }

  async delete(key: string): Promise<void> {
    this.#texts.delete(key);
  }

  /**
   * The text of an operation: sent, of a trusted document, or registered. Undefined for a hash that is unknown or
   * not that of the text.
   */
  textOf(payload: OperationPayload, policy: Policy): string | undefined {
    const hash = hashOf(payload);
    const { query } = payload;
    if (!query)
      return policy.trustedText(payload) ?? (hash && !policy.trusted.only ? this.#find(hash) : undefined);
    if (hash === undefined || this.#find(hash) === query) return query;
    return createHash("sha256").update(query).digest("hex") === hash ? query : undefined;
  }

  /** Registers the text of an admitted operation, if its client sent the hash. */
  register(payload: OperationPayload, { trusted }: Policy): void {
    const hash = hashOf(payload);
    const { query } = payload;
    if (hash && query && !trusted.only && this.#find(hash) !== query) void this.set(PREFIX + hash, query);
  }

  #find(hash: string): string | undefined {
    return this.#texts.get(PREFIX + hash);
  }
}

function hashOf({ extensions }: OperationPayload): string | undefined {
  const hash: unknown = Object(extensions?.persistedQuery).sha256Hash;
  return typeof hash === "string" ? hash : undefined;
}
