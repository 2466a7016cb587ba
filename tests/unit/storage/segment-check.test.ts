import { describe, expect, test } from "vitest";
import { AppError } from "../../../src/kernel/errors.ts";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { hashBytes } from "../../../src/storage/merkle/file-tree.ts";
import { toHex } from "../../../src/storage/merkle/proof.ts";
import { MAX_FILE_BYTES, SEGMENT_BYTES } from "../../../src/storage/merkle/shape.ts";
import { checkedShape, checkSegment } from "../../../src/storage/node/segment-check.ts";
import type { UploadedSegment } from "../../../src/storage/node/storage-node.ts";

const keccak = new Keccak();
const hashing = { keccak, hasher: keccak };
/** Three segments: two whole ones, and one of two chunks. */
const BYTES = Buffer.alloc(2 * SEGMENT_BYTES + 300, 7);
const TREE = hashBytes(keccak, BYTES);

function segment(index: number): UploadedSegment {
  const data = BYTES.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
  const padded = Buffer.alloc(Math.ceil(data.length / 256) * 256);
  data.copy(padded);
  return {
    root: TREE.root,
    index,
    data: padded,
    proof: TREE.proof(index),
    sizeBytes: BYTES.length,
  } as UploadedSegment;
}

/** The part of a segment that is refused, and the text for it; undefined if the segment is accepted. */
async function refusal(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.param, error.message];
    throw error;
  }
  return undefined;
}
const refused = (fields: Partial<UploadedSegment>, index = 1) =>
  refusal(() => checkSegment({ ...segment(index), ...fields }, TREE.shape, hashing));

describe("an uploaded segment", () => {
  test.each([0, 1, 2])(
    "number %i is accepted with its own proof, and the last one is known as such",
    async (index) => {
      const { segmentRoot, isLast } = await checkSegment(segment(index), TREE.shape, hashing);
      expect(toHex(segmentRoot)).toBe(TREE.proof(index).lemma[0]);
      expect(isLast).toBe(index === 2);
    },
  );

  test.each([-1, 3, 1.5, Number.NaN, 2 ** 40])(
    "with the index %s is refused in the words of the network",
    async (index) => {
      expect(await refused({ index })).toEqual(["segment_refused", "index", "index out of bound"]);
    },
  );

  test("has whole chunks, as many as its place has", async () => {
    expect(await refused({ data: Buffer.alloc(0) })).toEqual(["segment_refused", "data", "data is empty"]);
    const invalid = ["segment_refused", "data", "invalid data length"];
    for (const length of [1, 256, SEGMENT_BYTES - 256, SEGMENT_BYTES + 256])
      expect(await refused({ data: Buffer.alloc(length) })).toEqual(invalid);
    for (const length of [300, 256, 768, SEGMENT_BYTES])
      expect(await refused({ data: Buffer.alloc(length) }, 2)).toEqual(invalid);
  });

  test("is refused with other bytes, another proof or another root", async () => {
    const other = Buffer.from(segment(1).data);
    other[5] = 8;
    const failed = ["segment_refused", "proof", "validation failed"];
    expect(await refused({ data: other })).toEqual(failed);
    expect(await refused({ root: `0x${"12".repeat(32)}` })).toEqual(failed);
    expect(await refused({ proof: TREE.proof(2) })).toEqual(["segment_refused", "proof", "invalid proof"]);
  });
});

describe("the size of a file", () => {
  test.each([1, MAX_FILE_BYTES])("may be %i bytes", (sizeBytes) => {
    expect(checkedShape(sizeBytes).sizeBytes).toBe(sizeBytes);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("is refused as %s", async (sizeBytes) => {
    expect(await refusal(() => checkedShape(sizeBytes))).toEqual([
      "segment_refused",
      "fileSize",
      "invalid file size",
    ]);
  });

  test("above 64 GiB is too large", async () => {
    const [code, param, message] = (await refusal(() => checkedShape(MAX_FILE_BYTES + 1))) as string[];
    expect([code, param]).toEqual(["file_too_large", "fileSize"]);
    expect(message).toContain(`${MAX_FILE_BYTES} bytes`);
  });
});
