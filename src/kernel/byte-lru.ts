/** How much a `ByteLru` holds. */
type ByteLruLimits = { readonly maxEntries: number; readonly maxBytes: number };

/** One entry of this part of all bytes would push out too many others: it is not kept. */
const MAX_SHARE = 1 / 8;

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

  /** Keeps a value, unless it alone is larger than an eighth of all that may be kept. */
  set(key: string, value: V, sizeBytes: number): void {
    this.delete(key);
    const { maxEntries, maxBytes } = this.#limits;
    if (sizeBytes > maxBytes * MAX_SHARE) return;
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
