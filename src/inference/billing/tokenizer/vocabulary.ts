import { readFileSync } from "node:fs";

/**
 * The o200k vocabulary, as `npm run vocabulary` writes it: for each token, in the order of its rank, one byte with its
 * length and then its bytes.
 */
const FILE = new URL("./o200k.bin", import.meta.url);
/** More than twice the number of tokens, so that a search ends after few slots. A power of two. */
const SLOTS = 524_288;
/** The rank of bytes that are not a token: after all others. */
export const NO_TOKEN = 0x7fff_ffff;

/**
 * Finds the rank of a token by its bytes. Holds the file and a hash table of its tokens, 6 MB outside V8's heap, and is
 * filled in 30 ms: a module with a Map of strings took 25 MB of the heap and 300 ms, in each process and thread.
 */
export class Vocabulary {
  readonly #file: Uint8Array;
  /** For each slot the place of a token's bytes in the file. 0 is a free slot: the file begins with a length. */
  readonly #places = new Int32Array(SLOTS);
  readonly #ranks = new Int32Array(SLOTS);
  readonly size: number;

  constructor(file: Uint8Array = readFileSync(FILE)) {
    this.#file = file;
    let rank = 0;
    for (let at = 0; at < file.length; rank++) {
      const end = at + 1 + (file[at] ?? 0);
      this.#add(at + 1, end, rank);
      at = end;
    }
    this.size = rank;
  }

  /** The rank of the token with these bytes, or `NO_TOKEN`. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    for (let slot = slotOf(bytes, start, end); ; slot = (slot + 1) % SLOTS) {
      const place = this.#places[slot] as number;
      if (place === 0) return NO_TOKEN;
      if (this.#file[place - 1] === length && this.#isAt(place, bytes, start, length))
        return this.#ranks[slot] as number;
    }
  }

  #isAt(place: number, bytes: Uint8Array, start: number, length: number): boolean {
    for (let n = 0; n < length; n++) if (this.#file[place + n] !== bytes[start + n]) return false;
    return true;
  }

  #add(place: number, end: number, rank: number): void {
    let slot = slotOf(this.#file, place, end);
    while (this.#places[slot] !== 0) slot = (slot + 1) % SLOTS;
    this.#places[slot] = place;
    this.#ranks[slot] = rank;
  }
}

/** FNV-1a, with its high bits mixed into those that are used. */
function slotOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x0100_0193);
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}
