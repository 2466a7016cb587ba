/** A power of two: 64 KiB in all. */
const SLOTS = 16_384;

/**
 * Remembers which keys were seen recently, each by its hash in one of 16,384 slots, where a later key replaces it. Of keys
 * that were not seen, one in 262,144 is reported as seen.
 */
export class Sightings {
  readonly #hashes = new Uint32Array(SLOTS);

  /** Whether the key was seen before; it is from now on. */
  see(key: string): boolean {
    const hash = hashOf(key);
    const slot = hash % SLOTS;
    const isSeen = this.#hashes[slot] === hash;
    this.#hashes[slot] = hash;
    return isSeen;
  }
}

/** FNV-1a, with its bits mixed. Never 0, which is an empty slot. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return (hash ^ (hash >>> 15)) >>> 0 || 1;
}
