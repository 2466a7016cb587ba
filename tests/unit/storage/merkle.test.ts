// @module-tag medium
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { keccak256 } from "viem";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { HashPool } from "../../../src/storage/keccak/hash-pool.ts";
import { EMPTY_CHUNK_HASH, Keccak } from "../../../src/storage/keccak/keccak.ts";
import { emptyRoots, hashBytes, hashFile } from "../../../src/storage/merkle/file-tree.ts";
import { proofFault, type SegmentProof, toHex } from "../../../src/storage/merkle/proof.ts";
import { SegmentTree } from "../../../src/storage/merkle/segment-tree.ts";
import {
  fileShape,
  MAX_FILE_BYTES,
  SEGMENT_BYTES,
  segmentBytes,
  segmentLeaves,
} from "../../../src/storage/merkle/shape.ts";
import { fileRoot, submissionSectors } from "../../../src/storage/submissions/submission.ts";

type Vector = {
  readonly size: number;
  readonly root: Hex;
  readonly numChunks: number;
  readonly paddedChunks: number;
  readonly numSegments: number;
  readonly numSegmentsPadded: number;
  readonly submissionNodes: readonly { readonly root: Hex; readonly height: string }[];
  readonly sectorsCharged: number;
  readonly allSegmentRoots: readonly Hex[];
  readonly segmentProofs: readonly (SegmentProof & { readonly segmentIndex: number })[];
};

const keccak = new Keccak();
const text = readFileSync(new URL("../../fixtures/merkle-vectors.json", import.meta.url), "utf8");
const { vectors } = JSON.parse(text) as { readonly vectors: readonly Vector[] };

/** The file of a vector: byte i is i modulo 251. */
function patterned(sizeBytes: number): Buffer {
  const pattern = Buffer.from(Array.from({ length: 251 }, (_, byte) => byte));
  return Buffer.alloc(sizeBytes, pattern);
}

/** A segment as uploaded: whole chunks, padded with zeros at the end. */
function segmentOf(bytes: Buffer, index: number): Buffer {
  const shape = fileShape(bytes.length);
  const data = Buffer.alloc(segmentBytes(shape, index));
  bytes.copy(data, 0, index * SEGMENT_BYTES);
  return data;
}

describe("the tree of the public SDK's vectors", () => {
  test.each(vectors)("of $size bytes has the expected shape, root, nodes and proofs", (vector) => {
    const bytes = patterned(vector.size);
    const tree = hashBytes(keccak, bytes);
    expect(tree.shape).toEqual({
      sizeBytes: vector.size,
      chunks: vector.numChunks,
      paddedChunks: vector.paddedChunks,
      segments: vector.numSegments,
      paddedSegments: vector.numSegmentsPadded,
    });
    expect(tree.root).toBe(vector.root);
    expect(tree.nodes).toEqual(
      vector.submissionNodes.map(({ root, height }) => ({ root, height: Number(height) })),
    );
    for (const { segmentIndex, lemma, path } of vector.segmentProofs)
      expect(tree.proof(segmentIndex)).toEqual({ lemma, path });
    for (const [index, root] of vector.allSegmentRoots.entries())
      expect(tree.proof(index).lemma[0]).toBe(root);
  });
});

describe("hashing", () => {
  test("agrees with another implementation, for any number of chunks", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 256, maxLength: 256 * 9 }), (bytes) => {
        const chunks = Math.floor(bytes.length / 256);
        const leaves = keccak.leaves(bytes);
        expect(leaves.length).toBe(chunks * 32);
        for (let chunk = 0; chunk < chunks; chunk++)
          expect(toHex(leaves.subarray(chunk * 32, chunk * 32 + 32))).toBe(
            keccak256(bytes.subarray(chunk * 256, chunk * 256 + 256)),
          );
        const [left, right] = [leaves.subarray(0, 32), leaves.subarray(-32)];
        expect(toHex(keccak.pair(left, right))).toBe(keccak256(Buffer.concat([left, right])));
      }),
      { numRuns: 50 },
    );
    expect(toHex(EMPTY_CHUNK_HASH)).toBe(keccak256(new Uint8Array(256)));
  });

  test("a stream in parts of any size, hashed on threads, has the tree of its bytes", async () => {
    const pool = new HashPool({ keccak, threads: 1 });
    onTestFinished(() => pool.close());
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 * SEGMENT_BYTES }),
        fc.integer({ min: 30_000, max: 400_000 }),
        async (sizeBytes, partBytes) => {
          const bytes = patterned(sizeBytes);
          function* parts() {
            for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
          }
          const [streamed, whole] = [
            await hashFile(parts(), { keccak, hasher: pool }),
            hashBytes(keccak, bytes),
          ];
          expect(streamed.root).toBe(whole.root);
          expect(streamed.nodes).toEqual(whole.nodes);
          expect(streamed.proof(streamed.shape.segments - 1)).toEqual(whole.proof(whole.shape.segments - 1));
        },
      ),
      { numRuns: 12 },
    );
  });

  test("a closed pool refuses waiting and new work", async () => {
    const pool = new HashPool({ keccak, threads: 1 });
    const waiting = Array.from({ length: 8 }, () => pool.rootOfChunks(Buffer.alloc(SEGMENT_BYTES), 1_024));
    const settled = Promise.allSettled(waiting);
    await pool.close();
    expect((await settled).some(({ status }) => status === "rejected")).toBe(true);
    await expect(pool.rootOfChunks(Buffer.alloc(SEGMENT_BYTES), 1_024)).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  test("what is sent as soon as a thread has failed is hashed by another one", async () => {
    const pool = new HashPool({ keccak, threads: 1 });
    onTestFinished(() => pool.close());
    const segment = Buffer.alloc(SEGMENT_BYTES);
    for (let round = 0; round < 3; round++) {
      const again = pool.rootOfChunks(segment, 1).catch(() => pool.rootOfChunks(segment, 1_024));
      expect(toHex(await again)).toBe(toHex(keccak.rootOfChunks(segment, 1_024)));
    }
  });

  test("what waits for a thread that ends is hashed by another one", async () => {
    const pool = new HashPool({ keccak, threads: 1 });
    onTestFinished(() => pool.close());
    const segment = Buffer.alloc(SEGMENT_BYTES);
    // More chunks than leaves: the thread ends.
    const failing = pool.rootOfChunks(segment, 1);
    const [beside, waiting] = [pool.rootOfChunks(segment, 1_024), pool.rootOfChunks(segment, 1_024)];
    await Promise.allSettled([expect(failing).rejects.toThrow(RangeError), beside]);
    expect(await waiting).toEqual(keccak.rootOfChunks(segment, 1_024));
  });

  test("the nodes of a submission fold to the root, and pay for every leaf", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 * SEGMENT_BYTES }), (sizeBytes) => {
        const tree = hashBytes(keccak, patterned(sizeBytes));
        expect(fileRoot(tree.nodes)).toBe(tree.root);
        expect(submissionSectors(tree.nodes)).toBe(BigInt(tree.shape.paddedChunks));
        const heights = tree.nodes.map(({ height }) => height);
        expect(heights).toEqual([...new Set(heights)].sort((a, b) => b - a));
        expect((heights[0] ?? 0) - (heights.at(-1) ?? 0)).toBeLessThan(4);
      }),
      { numRuns: 25 },
    );
  });

  test("a file has 1 byte to 64 GiB", async () => {
    for (const size of [0, -1, 1.5, MAX_FILE_BYTES + 1]) expect(() => fileShape(size)).toThrow(RangeError);
    expect(fileShape(MAX_FILE_BYTES)).toMatchObject({ segments: 262_144, paddedSegments: 262_144 });
    await expect(hashFile([], { keccak })).rejects.toThrow(RangeError);
  });
});

describe("the tree of a large file", () => {
  test("is the same when it is built in parts, for any number of segments, and yields to other work", async () => {
    const keccak = new Keccak();
    for (const segments of [1, 2, 8_191, 8_192, 8_193, 20_001, 40_000]) {
      const roots = Buffer.from(Array.from({ length: segments * 32 }, (_, n) => (n * 7 + (n >> 8)) & 0xff));
      let turns = 0;
      const timer = setInterval(() => turns++, 0);
      const parts = await SegmentTree.buildInParts(keccak, roots);
      clearInterval(timer);
      const whole = SegmentTree.build(keccak, roots);
      expect(parts.root).toBe(whole.root);
      expect(parts.proof(segments - 1)).toEqual(whole.proof(segments - 1));
      if (segments === 40_000) expect(turns).toBeGreaterThan(0);
    }
  });

  test("takes its padding from one hash per number of leaves", () => {
    const keccak = new Keccak();
    const hashed = vi.spyOn(keccak, "rootOfChunks");
    const rootOf = emptyRoots(keccak);
    const expected = new Keccak().rootOfChunks(new Uint8Array(0), 1_024);
    for (let n = 0; n < 1_000; n++) expect(rootOf(1_024)).toEqual(expected);
    expect(rootOf(128)).toEqual(new Keccak().rootOfChunks(new Uint8Array(0), 128));
    expect(hashed).toHaveBeenCalledTimes(2);
  });
});

describe("the proof of a segment", () => {
  test.each([
    [262_145, 1, 128],
    [3_288_805, 12, 1_024],
    [100, 0, 1],
    [600_000, 2, 512],
  ])(
    "of a file of %i bytes covers the chunks of segment %i that schema/choices.md states",
    (size, index, leaves) => {
      const chunks = Math.ceil(size / 256);
      let power = 1;
      while (power < chunks) power *= 2;
      const unit = Math.max(1, power / 16);
      const padded = Math.ceil(chunks / unit) * unit;
      expect(Math.min(1_024, padded - index * 1_024)).toBe(leaves);
      expect(segmentLeaves(fileShape(size), index)).toBe(leaves);
    },
  );

  const sizes = [1, 300, SEGMENT_BYTES, SEGMENT_BYTES + 1, 5 * SEGMENT_BYTES, 4_194_305];
  const files = sizes.map((size) => {
    const bytes = patterned(size);
    return { bytes, tree: hashBytes(keccak, bytes) };
  });
  const anySegment = fc
    .constantFrom(...files)
    .chain((file) => fc.record({ file: fc.constant(file), index: fc.nat(file.tree.shape.segments - 1) }));
  const check = (file: (typeof files)[number], index: number, data: Buffer, proof: SegmentProof) =>
    proofFault(
      keccak,
      file.tree,
      index,
      keccak.rootOfChunks(data, segmentLeaves(file.tree.shape, index)),
      proof,
    );

  test("holds for its own bytes, and for no others", () => {
    fc.assert(
      fc.property(anySegment, fc.nat(), fc.integer({ min: 1, max: 255 }), ({ file, index }, at, flip) => {
        const data = segmentOf(file.bytes, index);
        const proof = file.tree.proof(index);
        expect(check(file, index, data, proof)).toBeUndefined();
        const wrong = Buffer.from(data);
        wrong[at % wrong.length] = (wrong[at % wrong.length] ?? 0) ^ flip;
        expect(check(file, index, wrong, proof)).toBe("validation failed");
      }),
      { numRuns: 60 },
    );
  });

  test("does not hold for another index, even with the same bytes", () => {
    const bytes = Buffer.alloc(4 * SEGMENT_BYTES, 7);
    const file = { bytes, tree: hashBytes(keccak, bytes) };
    const data = segmentOf(bytes, 1);
    for (let index = 0; index < 4; index++)
      expect(check(file, index, data, file.tree.proof(1))).toBe(index === 1 ? undefined : "invalid proof");
  });

  test("does not hold with anything in it changed, added or left out", () => {
    fc.assert(
      fc.property(anySegment, fc.nat(), ({ file, index }, at) => {
        const data = segmentOf(file.bytes, index);
        const { lemma, path } = file.tree.proof(index);
        const place = at % lemma.length;
        const other = keccak256("0x01");
        const changed: SegmentProof[] = [
          { lemma: lemma.with(place, other), path },
          { lemma: [...lemma, other], path },
          { lemma: lemma.slice(1), path },
          { lemma, path: [...path, true] },
          { lemma, path: path.map((isLeft) => !isLeft) },
          { lemma: lemma.with(place, "0x12"), path },
          { lemma: Array.from({ length: 5_000 }, () => other), path },
        ].filter((proof) => JSON.stringify(proof) !== JSON.stringify({ lemma, path }));
        for (const proof of changed) expect(check(file, index, data, proof)).toBeDefined();
      }),
      { numRuns: 40 },
    );
  });

  test("of the last segment shows that the padding hides nothing", () => {
    // 17 segments of data and 18 of leaves: the same tree over 18 segments of data, claimed to have 17.
    const hiding = patterned(18 * SEGMENT_BYTES);
    const file = { bytes: hiding.subarray(0, 4_194_305), tree: hashBytes(keccak, hiding) };
    const claimed = { ...file.tree, shape: fileShape(17 * SEGMENT_BYTES) };
    expect(claimed.shape.paddedSegments).toBe(18);
    const data = hiding.subarray(16 * SEGMENT_BYTES, 17 * SEGMENT_BYTES);
    const root = keccak.rootOfChunks(data, 1_024);
    expect(proofFault(keccak, file.tree, 16, root, file.tree.proof(16))).toBeUndefined();
    expect(proofFault(keccak, claimed, 16, root, file.tree.proof(16))).toBe(
      "invalid proof node value in the padding range",
    );
  });
});
