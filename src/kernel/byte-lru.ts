import { Sightings } from "./sightings.ts";

/** How much a `ByteLru` holds. */
type ByteLruLimits = {
  readonly maxBytes: number;
  readonly maxEntries?: number;
  /** The share of all bytes that one entry may take: a larger one would evict too many others. */
  readonly maxShare?: number;
  /** Whether it is selective about new keys once it is an eighth full (`#admits`). */
  readonly isSelective?: boolean;
};

const DEFAULT_MAX_SHARE = 1 / 8;
/** The share of its limits that a selective cache fills with new keys before they come again. */
const FILLED_FREELY = 1 / 8;
/** Of new keys that come again, a cache that is full of entries in use stores one in so many. */
const ADMITTED_WHEN_FULL = 8;
/** An entry is in use if it was read within so many reads of the cache for each of its entries. */
const READS_IN_USE = 4;
/** How many entries are examined at a time for one that is no longer in use. */
const EXAMINED = 4;

type Entry<V> = { readonly value: V; readonly sizeBytes: number; wasRead: boolean; readAt: number };

/**
 * An LRU map: it evicts the oldest entry that was not read since it was last considered (second chance, as a strict
 * order would change the map on every read). It is bounded by entries and by bytes, so that many large entries cannot
 * take more memory than the same number of small ones. Sizes are the caller's estimates.
 */
export class ByteLru<V> {
  readonly #limits: ByteLruLimits;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #sightings: Sightings | undefined;
  #sizeBytes = 0;
  /** How often the cache was read, whether or not it had the key. */
  #reads = 0;
  /** New keys that came again while the cache was full of entries in use. */
  #candidates = 0;

  constructor(limits: ByteLruLimits) {
    this.#limits = limits;
    if (limits.isSelective) this.#sightings = new Sightings();
  }

  /** The size of all entries together, in bytes. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    this.#reads++;
    if (!entry) return undefined;
    entry.wasRead = true;
    entry.readAt = this.#reads;
    return entry.value;
  }

  /** Stores a value, unless it is larger than the share of one entry, or not admitted yet; whether it did. */
  set(key: string, value: V, sizeBytes: number): boolean {
    const isNew = !this.#entries.has(key);
    this.delete(key);
    const { maxBytes, maxShare = DEFAULT_MAX_SHARE } = this.#limits;
    if (sizeBytes > maxBytes * maxShare) return false;
    if (isNew && !this.#admits(key, sizeBytes)) return false;
    this.#makeRoom(sizeBytes);
    this.#entries.set(key, { value, sizeBytes, wasRead: false, readAt: this.#reads });
    this.#sizeBytes += sizeBytes;
    return true;
  }

  /**
   * A selective cache that is an eighth full stores a new key when it is set for the second time: most never come again. One
   * that is full of entries in use then stores one in eight: where more keys come in turn than fit, each would be evicted
   * before it is read. What was stored and evicted in vain is old garbage, which is expensive to collect.
   */
  #admits(key: string, sizeBytes: number): boolean {
    const { maxEntries = Number.POSITIVE_INFINITY, maxBytes } = this.#limits;
    const isFilling =
      this.#sizeBytes <= maxBytes * FILLED_FREELY && this.#entries.size <= maxEntries * FILLED_FREELY;
    if (!this.#sightings || isFilling) return true;
    if (!this.#sightings.see(key)) return false;
    const isFull = this.#sizeBytes + sizeBytes > maxBytes || this.#entries.size >= maxEntries;
    return !isFull || this.#dropUnused() || this.#candidates++ % ADMITTED_WHEN_FULL === 0;
  }

  /** Deletes the first entry found that is no longer in use, among a few; the next call examines others. */
  #dropUnused(): boolean {
    let examined = 0;
    for (const [key, entry] of this.#entries) {
      if (examined++ === EXAMINED) return false;
      if (this.#reads - entry.readAt > READS_IN_USE * this.#entries.size) {
        this.delete(key);
        return true;
      }
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return false;
  }

  #makeRoom(sizeBytes: number): void {
    const { maxEntries = Number.POSITIVE_INFINITY, maxBytes } = this.#limits;
    // An entry that is moved to the end is visited again, and is evicted then.
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size < maxEntries && this.#sizeBytes + sizeBytes <= maxBytes) break;
      if (entry.wasRead) {
        entry.wasRead = false;
        this.#entries.delete(key);
        this.#entries.set(key, entry);
      } else this.delete(key);
    }
  }

  delete(key: string): void {
    this.#sizeBytes -= this.#entries.get(key)?.sizeBytes ?? 0;
    this.#entries.delete(key);
  }
}
