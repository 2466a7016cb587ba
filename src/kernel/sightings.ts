const SLOTS = 65_536;
/** The memory is cleared after this many keys: a fuller one reports too many unseen keys as seen. */
const MAX_KEYS = SLOTS / 4;

/** Remembers, in 8 KiB, which keys were seen recently. A few keys that were not seen are reported as seen. */
export class Sightings {
  readonly #bits = new Uint8Array(SLOTS / 8);
  #keys = 0;

  /** Whether the key was seen before; it is from now on. */
  see(key: string): boolean {
    const slot = hashOf(key) % SLOTS;
    const [at, bit] = [slot >> 3, 1 << (slot & 7)];
    const before = this.#bits[at] ?? 0;
    if (before & bit) return true;
    if (this.#keys++ >= MAX_KEYS) {
      this.#bits.fill(0);
      this.#keys = 1;
    }
    this.#bits[at] = (this.#bits[at] ?? 0) | bit;
    return false;
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return (hash ^ (hash >>> 15)) >>> 0;
}
