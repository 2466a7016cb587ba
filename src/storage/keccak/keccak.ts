import { hexToBytes } from "@noble/hashes/utils.js";
import { assembleKeccak, FIRST_FREE_ADDRESS } from "./module.ts";

/** A chunk (sector, entry) of the storage network, bytes. */
export const CHUNK_BYTES = 256;
/** A hash, bytes. */
export const HASH_BYTES = 32;
/** Maximum number of chunks or hashes per call. */
export const MAX_LEAVES = 1_024;

/** Keccak-256 of `CHUNK_BYTES` zero bytes: the leaf of an empty chunk. */
export const EMPTY_CHUNK_HASH: Uint8Array = hexToBytes(
  "d397b3b043d87fcd6fad1291ff0bfd16401c274896d8c63a923727f077b8e0b5",
);

/**
 * Hashes chunks into leaves and leaves into roots, many at a time (see `module.ts`). An instance has memory for one
 * call: it keeps no state between calls, and every call is synchronous. It also runs in browsers.
 */
export class Keccak {
  readonly #chunks: (input: number, count: number, output: number) => void;
  readonly #pairs: (input: number, count: number, output: number) => void;
  readonly #memory: Uint8Array;

  constructor() {
    const { memory, chunks, pairs } = new wasm.Instance(new wasm.Module(assembleKeccak(PAGES))).exports;
    this.#chunks = chunks;
    this.#pairs = pairs;
    this.#memory = new Uint8Array(memory.buffer);
  }

  /**
   * The root over `leaves` chunks: those of `data`, then empty ones. The last chunk of `data` is padded with zeros.
   * `data` has at most 262,144 bytes, and `leaves`, 1 to 1,024, must cover it.
   */
  rootOfChunks(data: Uint8Array, leaves: number): Uint8Array {
    const chunks = Math.ceil(data.length / CHUNK_BYTES);
    if (leaves < 1 || leaves < chunks || leaves > MAX_LEAVES)
      throw new RangeError(`${data.length} bytes in ${leaves} chunks`);
    const filled = chunks * CHUNK_BYTES;
    this.#memory.set(data, CHUNKS_AT);
    this.#memory.fill(0, CHUNKS_AT + data.length, CHUNKS_AT + filled);
    this.#chunks(CHUNKS_AT, chunks, HASHES_AT);
    for (let leaf = chunks; leaf < leaves; leaf++)
      this.#memory.set(EMPTY_CHUNK_HASH, HASHES_AT + leaf * HASH_BYTES);
    return this.#reduce(leaves);
  }

  /** The next level of a tree: the hashes of pairs, and the last hash itself when it has no partner. */
  nextLevel(hashes: Uint8Array): Uint8Array {
    const count = hashes.length / HASH_BYTES;
    const next = new Uint8Array(Math.ceil(count / 2) * HASH_BYTES);
    for (let at = 0; at < count; at += MAX_LEAVES) {
      const part = hashes.subarray(at * HASH_BYTES, (at + MAX_LEAVES) * HASH_BYTES);
      this.#memory.set(part, HASHES_AT);
      const halved = this.#halve(part.length / HASH_BYTES);
      next.set(this.#hashes(halved), (at / 2) * HASH_BYTES);
    }
    return next;
  }

  /** The hash of two concatenated hashes. */
  pair(left: Uint8Array, right: Uint8Array): Uint8Array {
    this.#memory.set(left, HASHES_AT);
    this.#memory.set(right, HASHES_AT + HASH_BYTES);
    this.#pairs(HASHES_AT, 1, HASHES_AT);
    return this.#hashes(1).slice();
  }

  /** The hash of every whole chunk of `data`, at most 262,144 bytes. */
  leaves(data: Uint8Array): Uint8Array {
    const count = Math.floor(data.length / CHUNK_BYTES);
    this.#memory.set(data.subarray(0, count * CHUNK_BYTES), CHUNKS_AT);
    this.#chunks(CHUNKS_AT, count, HASHES_AT);
    return this.#hashes(count).slice();
  }

  #reduce(count: number): Uint8Array {
    for (let left = count; left > 1; ) left = this.#halve(left);
    return this.#hashes(1).slice();
  }

  /** Hashes pairs in place: a pair is read before its hash is written, and the hash lies before the next pair. */
  #halve(count: number): number {
    const pairs = count >> 1;
    if (pairs > 0 && count % 2 === 0) this.#pairs(HASHES_AT, pairs, HASHES_AT);
    else if (pairs > 0) {
      const last = this.#memory.slice(HASHES_AT + (count - 1) * HASH_BYTES, HASHES_AT + count * HASH_BYTES);
      this.#pairs(HASHES_AT, pairs, HASHES_AT);
      this.#memory.set(last, HASHES_AT + pairs * HASH_BYTES);
    }
    return Math.ceil(count / 2);
  }

  #hashes(count: number): Uint8Array {
    return this.#memory.subarray(HASHES_AT, HASHES_AT + count * HASH_BYTES);
  }
}

/** Node's type definitions leave WebAssembly to those of browsers. */
const wasm = (globalThis as unknown as { readonly WebAssembly: WebAssemblyTypes }).WebAssembly;
type WebAssemblyTypes = {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
};
type Exports = {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly chunks: (input: number, count: number, output: number) => void;
  readonly pairs: (input: number, count: number, output: number) => void;
};

const CHUNKS_AT = FIRST_FREE_ADDRESS;
/** One spare chunk after each region, since blocks are hashed two at a time. */
const HASHES_AT = CHUNKS_AT + (MAX_LEAVES + 1) * CHUNK_BYTES;
const PAGES = Math.ceil((HASHES_AT + (MAX_LEAVES + 2) * HASH_BYTES) / 65_536);
