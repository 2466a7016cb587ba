/** How many entries are deleted at least between two tables. */
const MIN_DELETED = 32;

/**
 * A map whose entries come and go with requests. V8 moves the entries of a `Map` into a new table whenever deleted ones
 * fill the old, which goes on referring to its entries and to the new table: as soon as one of them is among the old
 * objects, each later table with all that its requests made stays until the next full garbage collection, tens of
 * kilobytes a request. Here a new `Map` replaces the old one before that goes on for long.
 */
export class TransientMap<Key, Value> {
  #entries = new Map<Key, Value>();
  #deleted = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.set(key, value);
  }

  /** Whether the map had the key. */
  delete(key: Key): boolean {
    if (!this.#entries.delete(key)) return false;
    if (++this.#deleted >= Math.max(MIN_DELETED, this.#entries.size)) {
      this.#entries = new Map(this.#entries);
      this.#deleted = 0;
    }
    return true;
  }

  /** The values now, oldest first. */
  values(): readonly Value[] {
    return [...this.#entries.values()];
  }
}
