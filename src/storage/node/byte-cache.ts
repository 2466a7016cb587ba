/** Keeps the values that were used last, as many as fit into a number of bytes. A larger value is not kept at all. */
export class ByteCache<V> {
  readonly #values = new Map<string, { readonly value: V; readonly bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): V | undefined {
    const known = this.#values.get(key);
    if (!known) return undefined;
    // A map keeps the order of insertion: what is used goes to its end.
    this.#values.delete(key);
    this.#values.set(key, known);
    return known.value;
  }

  set(key: string, value: V, bytes: number): void {
    this.delete(key);
    if (bytes > this.#maxBytes) return;
    this.#values.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const known = this.#values.get(key);
    if (!known) return;
    this.#values.delete(key);
    this.#bytes -= known.bytes;
  }
}
