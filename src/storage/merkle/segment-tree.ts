import type { Hex } from "../../kernel/hex.ts";
import { HASH_BYTES, type Keccak } from "../keccak/keccak.ts";
import { type SegmentProof, toHex } from "./proof.ts";

/**
 * The tree over the padded segment roots of a file, every level of it: 64 bytes a segment. A hash without a partner
 * moves up as it is, which is the same as splitting at the largest power of two.
 */
export class SegmentTree {
  readonly #levels: readonly Buffer[];

  /** `segmentRoots` side by side, at least one. */
  constructor(keccak: Keccak, segmentRoots: Buffer) {
    const levels = [segmentRoots];
    for (let top = segmentRoots; top.length > HASH_BYTES; ) {
      top = keccak.nextLevel(top);
      levels.push(top);
    }
    this.#levels = levels;
  }

  /** The root of the file. */
  get root(): Hex {
    return toHex(this.hash(this.#levels.length - 1, 0));
  }

  get sizeBytes(): number {
    return this.#levels.reduce((sum, level) => sum + level.length, 0);
  }

  /** The hash over 2^`level` segments, the `position`th of them; 32 bytes that are not to be written to. */
  hash(level: number, position: number): Buffer {
    const hashes = this.#levels[level];
    if (!hashes || (position + 1) * HASH_BYTES > hashes.length)
      throw new RangeError(`no hash ${position} on level ${level}`);
    return hashes.subarray(position * HASH_BYTES, (position + 1) * HASH_BYTES);
  }

  /** The way from a segment to the root. Throws a `RangeError` for a segment that is none. */
  proof(index: number): SegmentProof {
    const lemma = [toHex(this.hash(0, index))];
    const path: boolean[] = [];
    for (const [level, hashes] of this.#levels.slice(0, -1).entries()) {
      const position = Math.floor(index / 2 ** level);
      const sibling = position % 2 === 0 ? position + 1 : position - 1;
      if (sibling * HASH_BYTES >= hashes.length) continue;
      lemma.push(toHex(this.hash(level, sibling)));
      path.push(position % 2 === 0);
    }
    return { lemma: this.#levels.length === 1 ? lemma : [...lemma, this.root], path };
  }
}
