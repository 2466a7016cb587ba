import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { hashBytes, hashFile } from "../../../src/storage/merkle/file-tree.ts";
import { proofFault, type SegmentProof, toHash, toHex } from "../../../src/storage/merkle/proof.ts";
import { SegmentTree } from "../../../src/storage/merkle/segment-tree.ts";
import { fileShape, SEGMENT_BYTES } from "../../../src/storage/merkle/shape.ts";

const keccak = new Keccak();
const BYTES = Buffer.alloc(5 * SEGMENT_BYTES, 7);
const TREE = hashBytes(keccak, BYTES);
const ROOT = toHash(TREE.proof(2).lemma[0]);
const check = (proof: SegmentProof, index = 2) => proofFault(keccak, TREE, index, ROOT, proof);

describe("a proof", () => {
  const { lemma, path } = TREE.proof(2);

  test("is valid in one form only: as many hashes as its path, each of 32 bytes and nothing else", () => {
    expect(check({ lemma, path })).toBeUndefined();
    const [first, second, ...rest] = lemma as [Hex, Hex, ...Hex[]];
    for (const other of [
      [first, second, second, ...rest],
      [...lemma, TREE.root],
      lemma.slice(0, -1),
      [first, `${second}00`, ...rest],
      [first, `${second}zz`, ...rest],
      [first, second.slice(0, -2), ...rest],
      [first, second.slice(2), ...rest],
      [first, "", ...rest],
      [],
    ])
      expect(check({ lemma: other as Hex[], path })).toBe("invalid proof");
  });

  test("may be written in capital letters", () => {
    expect(
      check({ lemma: lemma.map((hash): Hex => `0x${hash.slice(2).toUpperCase()}`), path }),
    ).toBeUndefined();
  });

  test("has the side of each sibling, for this index", () => {
    for (const [level] of path.entries())
      expect(check({ lemma, path: path.with(level, !path[level]) })).toBe("invalid proof");
    expect(check({ lemma, path: path.slice(1) })).toBe("invalid proof");
    expect(check({ lemma, path: [] })).toBe("invalid proof");
  });

  test("begins with the segment, passes through its siblings, and ends in the root of the file", () => {
    const other = toHex(keccak.rootOfChunks(Buffer.from("other"), 1));
    for (const [place] of lemma.entries())
      expect(check({ lemma: lemma.with(place, other), path })).toBe("validation failed");
    const elsewhere = { ...TREE, root: other };
    expect(proofFault(keccak, elsewhere, 2, ROOT, { lemma, path })).toBe("validation failed");
    expect(proofFault(keccak, TREE, 2, toHash(other), { lemma, path })).toBe("validation failed");
  });

  test("of a file of one segment is its root alone", () => {
    const one = hashBytes(keccak, BYTES.subarray(0, 1_000));
    const root = toHash(one.root);
    const faultOf = (proof: SegmentProof) => proofFault(keccak, one, 0, root, proof);
    expect(faultOf(one.proof(0))).toBeUndefined();
    expect(one.proof(0)).toEqual({ lemma: [one.root], path: [] });
    for (const lemma of [[], [one.root, one.root]])
      expect(faultOf({ lemma, path: [] })).toBe("invalid proof");
    expect(faultOf({ lemma: [one.root], path: [true] })).toBe("invalid proof");
    expect(faultOf({ lemma: [`0x${"12".repeat(32)}`], path: [] })).toBe("validation failed");
  });

  test("exists for each segment and for the padding after it, and for no other index", () => {
    const tree = hashBytes(keccak, BYTES.subarray(0, 4 * SEGMENT_BYTES + 1));
    const { segments, paddedSegments } = tree.shape;
    expect([segments, paddedSegments]).toEqual([5, 5]);
    for (const index of [-1, -2, 5, 6, 1.5, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => tree.proof(index), String(index)).toThrow(RangeError);
    const large = hashBytes(keccak, Buffer.alloc(16 * SEGMENT_BYTES + 1, 1));
    expect([large.shape.segments, large.shape.paddedSegments]).toEqual([17, 18]);
    const empty = keccak.rootOfChunks(new Uint8Array(0), 1_024);
    expect(large.proof(17).lemma[0]).toBe(toHex(empty));
    expect(proofFault(keccak, large, 17, empty, large.proof(17))).toBeUndefined();
  });
});

describe("a tree of segments", () => {
  const rootsOf = (count: number) =>
    Buffer.concat(Array.from({ length: count }, (_, n) => keccak.rootOfChunks(Buffer.from(`${n}`), 1)));

  test("has a hash for each place, and a RangeError for any other", () => {
    const tree = SegmentTree.build(keccak, rootsOf(5));
    expect(toHex(tree.hash(3, 0))).toBe(tree.root);
    expect([4, 2, 1, 0].map((last, level) => tree.hash(level, last).length)).toEqual([32, 32, 32, 32]);
    for (const [level, position] of [
      [0, 5],
      [1, 3],
      [2, 2],
      [3, 1],
      [4, 0],
      [-1, 0],
      [0, -1],
      [0, 0.5],
    ] as const)
      expect(() => tree.hash(level, position)).toThrow(RangeError);
  });

  test("takes 32 bytes for each hash", () => {
    expect(SegmentTree.build(keccak, rootsOf(1)).sizeBytes).toBe(32);
    expect(SegmentTree.build(keccak, rootsOf(5)).sizeBytes).toBe(32 * (5 + 3 + 2 + 1));
  });

  test("is the same built at once and in parts, at every level", async () => {
    for (const count of [1, 2, 3, 8]) {
      const [whole, parts] = [
        SegmentTree.build(keccak, rootsOf(count)),
        await SegmentTree.buildInParts(keccak, rootsOf(count)),
      ];
      expect(parts.sizeBytes).toBe(whole.sizeBytes);
      for (let index = 0; index < count; index++) expect(parts.proof(index)).toEqual(whole.proof(index));
    }
  });
});

test("a file that is read in parts has the tree of its bytes, wherever the parts end", async () => {
  const bytes = BYTES.subarray(0, 2 * SEGMENT_BYTES + 300);
  const whole = hashBytes(keccak, bytes);
  const cut = fc.array(
    fc.constantFrom(0, 1, 255, 256, 257, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  await fc.assert(
    fc.asyncProperty(cut, async (lengths) => {
      function* parts() {
        let at = 0;
        for (const length of lengths) {
          yield bytes.subarray(at, at + length);
          at = Math.min(at + length, bytes.length);
        }
        yield bytes.subarray(at);
      }
      const streamed = await hashFile(parts(), { keccak });
      expect([streamed.root, streamed.nodes, streamed.shape]).toEqual([whole.root, whole.nodes, whole.shape]);
    }),
    { numRuns: 15 },
  );
});

test("of a large file at most eight segments are being hashed at once", async () => {
  let [inFlight, most] = [0, 0];
  const hasher = {
    rootOfChunks: async (data: Uint8Array, leaves: number) => {
      most = Math.max(most, ++inFlight);
      const root = keccak.rootOfChunks(data, leaves);
      await new Promise((done) => setImmediate(done));
      inFlight--;
      return root;
    },
  };
  const bytes = Buffer.alloc(20 * SEGMENT_BYTES, 3);
  const streamed = await hashFile([bytes], { keccak, hasher });
  expect(streamed.root).toBe(hashBytes(keccak, bytes).root);
  expect([most > 1, most <= 8]).toEqual([true, true]);
});

test("a file is padded by less than a sixteenth of the power of two above it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 36 }), (sizeBytes) => {
      const { chunks, paddedChunks, segments, paddedSegments } = fileShape(sizeBytes);
      const power = 2 ** Math.ceil(Math.log2(chunks));
      expect(chunks).toBe(Math.ceil(sizeBytes / 256));
      expect(paddedChunks - chunks).toBeLessThan(Math.max(1, power / 16));
      expect(paddedChunks % Math.max(1, power / 16)).toBe(0);
      expect([segments, paddedSegments]).toEqual([
        Math.ceil(chunks / 1_024),
        Math.ceil(paddedChunks / 1_024),
      ]);
    }),
  );
  for (const chunks of [1, 2, 3, 15, 16, 17, 31]) {
    const unit = chunks > 16 ? 2 : 1;
    expect(fileShape(chunks * 256).paddedChunks).toBe(Math.ceil(chunks / unit) * unit);
  }
});
