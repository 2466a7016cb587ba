import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { FileCheck } from "../../../src/storage/merkle/file-check.ts";
import { hashBytes } from "../../../src/storage/merkle/file-tree.ts";
import { MAX_FILE_BYTES, SEGMENT_BYTES } from "../../../src/storage/merkle/shape.ts";

const keccak = new Keccak();

function newFile(sizeBytes: number) {
  const bytes = Uint8Array.from({ length: sizeBytes }, (_, at) => (at * 31 + (at >> 9)) & 0xff);
  const tree = hashBytes(keccak, bytes);
  const check = new FileCheck(keccak, { root: tree.root, sizeBytes });
  const segment = (index: number) => bytes.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
  return { bytes, tree, check, segment };
}

describe("a stored file", () => {
  test("of any size is verified by segments in any order, and its root is rebuilt from them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 * SEGMENT_BYTES }), fc.boolean(), (sizeBytes, isReversed) => {
        const { tree, check, segment } = newFile(sizeBytes);
        const indexes = Array.from({ length: tree.shape.segments }, (_, n) => n);
        for (const index of isReversed ? indexes.reverse() : indexes) {
          expect(check.rebuiltRoot()).toBeUndefined();
          expect(check.faultOf(index, segment(index), tree.proof(index))).toBeUndefined();
        }
        expect(check.rebuiltRoot()).toBe(tree.root);
      }),
      { numRuns: 15 },
    );
  });

  test("is refused with one flipped bit, and its root is not rebuilt", () => {
    const { tree, check, segment } = newFile(2 * SEGMENT_BYTES + 300);
    for (const index of [0, 1, 2]) {
      const wrong = segment(index).slice();
      wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1;
      expect(check.faultOf(index, wrong, tree.proof(index))).toBe("validation failed");
    }
    expect(check.faultOf(0, segment(0), tree.proof(0))).toBeUndefined();
    expect(check.faultOf(2, segment(2), tree.proof(2))).toBeUndefined();
    expect(check.rebuiltRoot()).toBeUndefined();
  });

  test("is refused with bytes of another length, a segment in another place, and an index beyond it", () => {
    const { tree, check, segment, bytes } = newFile(2 * SEGMENT_BYTES + 300);
    expect(check.faultOf(2, segment(2).subarray(1), tree.proof(2))).toBe("invalid data length");
    // The zeros that fill the last chunk are not part of the file.
    const padded = new Uint8Array(512);
    padded.set(segment(2));
    expect(check.faultOf(2, padded, tree.proof(2))).toBe("invalid data length");
    expect(check.faultOf(1, segment(0), tree.proof(0))).toBe("invalid proof");
    for (const index of [3, -1, 0.5, Number.NaN])
      expect(check.faultOf(index, bytes.subarray(0, 1), { lemma: [], path: [] })).toBe("invalid proof");
    const elsewhere = newFile(2 * SEGMENT_BYTES + 301);
    expect(check.faultOf(0, elsewhere.segment(0), elsewhere.tree.proof(0))).toBe("validation failed");
  });

  test("has 1 byte to 64 GiB", () => {
    const root = newFile(1).tree.root;
    for (const sizeBytes of [0, -1, 1.5, MAX_FILE_BYTES + 1])
      expect(() => new FileCheck(keccak, { root, sizeBytes })).toThrow(RangeError);
  });
});
