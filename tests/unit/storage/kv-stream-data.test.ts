import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import {
  CONTROL_OPS,
  CONTROL_SHAPES,
  type ControlOp,
  encodeStreamData,
  type StreamData,
  streamsOf,
} from "../../../src/storage/kv/stream-data.ts";
import { type ByteSource, readStreamData, StreamDataError } from "../../../src/storage/kv/stream-reader.ts";
import { decodeTags, encodeTags } from "../../../src/storage/kv/stream-tags.ts";

// A mixed transaction as the network's own client encodes it.
const vector = JSON.parse(readFileSync(new URL("../../fixtures/kv-vectors.json", import.meta.url), "utf8"));
const ID_1: Hex = `0x${"11".repeat(32)}`;
const ID_2: Hex = `0x${"22".repeat(32)}`;
const ACCOUNT: Hex = `0x${"aa".repeat(20)}`;
const text = (value: string) => Buffer.from(value);

const MIXED: StreamData = {
  version: 7n,
  reads: [{ streamId: ID_1, key: text("r1") }],
  writes: [
    { streamId: ID_1, key: text("k1"), value: text("hello") },
    { streamId: ID_2, key: text("k2"), value: text("") },
  ],
  controls: [
    { op: "GRANT_ADMIN_ROLE", streamId: ID_1, account: ACCOUNT },
    { op: "SET_KEY_TO_SPECIAL", streamId: ID_1, key: text("k1") },
    { op: "GRANT_SPECIAL_WRITER_ROLE", streamId: ID_1, key: text("k1"), account: ACCOUNT },
    { op: "RENOUNCE_WRITER_ROLE", streamId: ID_2 },
    { op: "RENOUNCE_SPECIAL_WRITER_ROLE", streamId: ID_2, key: text("k2") },
  ],
};

test("a transaction and its tags are encoded as by the network's own client", () => {
  const encoded = encodeStreamData(MIXED);
  expect(encoded.toString("hex")).toBe(vector.encodedHex);
  expect(encoded).toHaveLength(vector.size);
  expect(encodeTags(streamsOf(MIXED))).toBe(`0x${vector.tagsHex}`);
});

test("an encoded transaction is decoded, with its values at their offsets", async () => {
  const encoded = Buffer.from(vector.encodedHex, "hex");
  const { version, reads, writes, controls } = await readStreamData(sourceOf(encoded));
  expect({ version, reads, controls }).toEqual({
    version: MIXED.version,
    reads: MIXED.reads,
    controls: MIXED.controls,
  });
  expect(
    writes.map(({ offset, sizeBytes, ...at }) => ({
      ...at,
      value: encoded.subarray(offset, offset + sizeBytes),
    })),
  ).toEqual(MIXED.writes);
});

test("any transaction survives encoding and decoding, however its bytes arrive", async () => {
  const streamId = fc.constantFrom(ID_1, ID_2);
  const key = fc.uint8Array({ minLength: 1, maxLength: 700 }).map((bytes) => Buffer.from(bytes));
  const control = fc.constantFrom(...(Object.keys(CONTROL_OPS) as ControlOp[])).chain((op) =>
    fc.record({ streamId, key }).map((named) => ({
      op,
      streamId: named.streamId,
      ...(CONTROL_SHAPES[op].key && { key: named.key }),
      ...(CONTROL_SHAPES[op].account && { account: ACCOUNT }),
    })),
  );
  const value = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes));
  const data = fc.record({
    version: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    reads: fc.array(fc.record({ streamId, key }), { maxLength: 5 }),
    writes: fc.array(fc.record({ streamId, key, value }), { maxLength: 5 }),
    controls: fc.array(control, { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(data, async (given) => {
      const encoded = encodeStreamData(given);
      const read = await readStreamData(sourceOf(encoded));
      const writes = read.writes.map(({ streamId: id, key: name, offset, sizeBytes }) => ({
        ...{ streamId: id, key: name },
        value: encoded.subarray(offset, offset + sizeBytes),
      }));
      expect({ ...read, writes }).toEqual(given);
    }),
    { numRuns: 100 },
  );
});

test("bytes that are not a transaction are refused, wherever they are truncated", async () => {
  const encoded = encodeStreamData({
    ...MIXED,
    writes: [{ streamId: ID_1, key: text("k"), value: Buffer.alloc(600) }],
  });
  // A cut within the last sector reads as zeros there, as on the network: so only whole sectors are removed.
  for (const size of [256, 512])
    await expect(readStreamData(sourceOf(encoded.subarray(0, size)))).rejects.toThrow(StreamDataError);
  const emptyKey = Buffer.concat([Buffer.alloc(8), count(1), Buffer.alloc(32), Buffer.from([0, 0, 0])]);
  await expect(readStreamData(sourceOf(emptyKey))).rejects.toThrow("invalid data");
  const long = Buffer.concat([Buffer.alloc(8), count(65_537)]);
  await expect(readStreamData(sourceOf(long))).rejects.toThrow("list is too long");
  const huge = Buffer.concat([Buffer.alloc(8), count(1), Buffer.alloc(32), Buffer.from([255, 255, 255])]);
  await expect(readStreamData(sourceOf(huge, 2 ** 30))).rejects.toThrow("more than 8 MiB");
  const endless = Buffer.concat([
    ...[Buffer.alloc(8), count(0), count(1), Buffer.alloc(32), Buffer.from([0, 0, 1, 65])],
    Buffer.alloc(8, 0xff),
  ]);
  await expect(readStreamData(sourceOf(endless))).rejects.toThrow("invalid data");
  const unknownControl = Buffer.concat([Buffer.alloc(8), count(0), count(0), count(1), Buffer.of(0x40)]);
  await expect(readStreamData(sourceOf(unknownControl))).rejects.toThrow("invalid data");
});

test("a file that ends within a sector reads as zeros up to the end of the sector", async () => {
  expect(await readStreamData(sourceOf(Buffer.of(0)))).toEqual({
    version: 0n,
    reads: [],
    writes: [],
    controls: [],
  });
});

test("what the format cannot represent is not encoded", () => {
  const write = { streamId: ID_1, key: text("k"), value: text("v") };
  const data = { version: 0n, reads: [], writes: [write], controls: [] };
  expect(() => encodeStreamData({ ...data, version: 2n ** 64n })).toThrow(RangeError);
  expect(() => encodeStreamData({ ...data, writes: [{ ...write, key: text("") }] })).toThrow(RangeError);
  expect(() => encodeStreamData({ ...data, writes: Array(65_537).fill(write) })).toThrow(RangeError);
  const named = { op: "GRANT_ADMIN_ROLE", streamId: ID_1, key: text("k"), account: ACCOUNT } as const;
  expect(() => encodeStreamData({ ...data, controls: [named] })).toThrow(RangeError);
});

test("tags name streams only of key-value data, and each stream once", () => {
  expect(decodeTags(encodeTags([ID_2, ID_1, ID_2]))).toEqual([ID_2, ID_1]);
  for (const tags of ["0x", "0x00", `0x${"ab".repeat(32)}`, encodeTags([]), `${encodeTags([ID_1])}00`])
    expect(decodeTags(tags as Hex)).toBeUndefined();
});

function sourceOf(bytes: Buffer, sizeBytes = bytes.length): ByteSource {
  return { sizeBytes, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}

function count(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
