/** How much a `ByteLru` holds. */
type ByteLruLimits = {
  readonly maxBytes: number;
  readonly maxEntries?: number;
  /** The part of all bytes that one entry may take: a larger one would push out too many others. */
  readonly maxShare?: number;
};

const DEFAULT_MAX_SHARE = 1 / 8;

/**
 * A map by text that forgets what was not read for the longest time. It is bounded by entries and by bytes, so that
 * many large entries cannot take more memory than the same number of small ones. Sizes are the caller's estimates.
 */
export class ByteLru<V> {
  readonly #limits: ByteLruLimits;
  readonly #entries = new Map<string, { readonly value: V; readonly sizeBytes: number }>();
  #sizeBytes = 0;

  constructor(limits: ByteLruLimits) {
    this.#limits = limits;
  }

  /** What all entries take together, in bytes. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value, unless it alone is larger than its share. */
  set(key: string, value: V, sizeBytes: number): void {
    this.delete(key);
    const { maxEntries = Number.POSITIVE_INFINITY, maxBytes, maxShare = DEFAULT_MAX_SHARE } = this.#limits;
    if (sizeBytes > maxBytes * maxShare) return;
    this.#entries.set(key, { value, sizeBytes });
    this.#sizeBytes += sizeBytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#sizeBytes <= maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#sizeBytes -= this.#entries.get(key)?.sizeBytes ?? 0;
    this.#entries.delete(key);
  }
}
