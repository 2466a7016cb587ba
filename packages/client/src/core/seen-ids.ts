/** More than the server replays to one reader before it is disconnected. */
const MAX_IDS = 2_048;

/** The ids of the newest events: delivery is at least once. */
export class SeenIds {
  readonly #ids = new Set<string>();

  /** Adds an id. Returns false if it is known. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > MAX_IDS) for (const oldest of this.#ids) return this.#ids.delete(oldest);
    return true;
  }
}
