import { nextTurn } from "../../kernel/async/next-turn.ts";
import { joinBytes } from "../../kernel/bytes.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { HASH_BYTES, type Keccak } from "../keccak/keccak.ts";
import { type SegmentProof, toHex } from "./proof.ts";

/** Bytes of a level that are hashed without a pause: an even number of hashes, 3 ms. */
const PART_BYTES = 8_192 * HASH_BYTES;

/**
 * The tree over the padded segment roots of a file, with all levels: 64 bytes per segment. A hash without a partner
 * moves up unchanged, which is equivalent to splitting at the largest power of two.
 */
export class SegmentTree {
  readonly #levels: readonly Uint8Array[];

  private constructor(levels: readonly Uint8Array[]) {
    this.#levels = levels;
  }

  /** Builds the tree synchronously: 3 ms for a file of 1 GiB. `segmentRoots` are concatenated, at least one. */
  static build(keccak: Keccak, segmentRoots: Uint8Array): SegmentTree {
    const levels = [segmentRoots];
    for (let top = segmentRoots; top.length > HASH_BYTES; ) {
      top = keccak.nextLevel(top);
      levels.push(top);
    }
    return new SegmentTree(levels);
  }

  /** Builds the tree of a file of any size, yielding to the event loop in between. */
  static async buildInParts(keccak: Keccak, segmentRoots: Uint8Array): Promise<SegmentTree> {
    const levels = [segmentRoots];
    for (let top = segmentRoots; top.length > HASH_BYTES; ) {
      const parts: Uint8Array[] = [];
      for (let at = 0; at < top.length; at += PART_BYTES) {
        if (at > 0) await nextTurn();
        parts.push(keccak.nextLevel(top.subarray(at, at + PART_BYTES)));
      }
      top = joinBytes(parts);
      levels.push(top);
    }
    return new SegmentTree(levels);
  }

  /** The root of the file. */
  get root(): Hex {
    return toHex(this.hash(this.#levels.length - 1, 0));
  }

  get sizeBytes(): number {
    return this.#levels.reduce((sum, level) => sum + level.length, 0);
  }

  /**
   * The hash number `position` of a level, over 2^`level` segments: 32 bytes. Do not write to them. Throws a
   * `RangeError` if there is none.
   */
  hash(level: number, position: number): Uint8Array {
    const hashes = this.#levels[level];
    if (!hashes || !Number.isInteger(position) || position < 0 || position * HASH_BYTES >= hashes.length)
      throw new RangeError(`no hash ${position} on level ${level}`);
    return hashes.subarray(position * HASH_BYTES, (position + 1) * HASH_BYTES);
  }

  /** The proof from a segment to the root. Throws a `RangeError` for an invalid index. */
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
