import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ChunkHash } from "../../../src/kernel/hash-in-parts.ts";

const chunk = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.string({ maxLength: 40, unit: "grapheme" }),
  fc.integer({ min: 1, max: 20_000 }).map((length) => new Uint8Array(length).fill(length)),
);

function bytesOf(chunks: readonly (Uint8Array | string)[]): Buffer {
  return Buffer.concat(chunks.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
}

test("the digest of chunks is that of their bytes at every moment, however they are cut", async () => {
  const chunks = fc.array(fc.tuple(chunk, fc.boolean(), fc.uint8Array({ maxLength: 9 })), {
    maxLength: 200,
    size: "max",
  });
  await fc.assert(
    fc.asyncProperty(chunks, async (given) => {
      const hashed = new ChunkHash();
      const arrived: (Uint8Array | string)[] = [];
      expect(hashed.digest()).toBeUndefined();
      for (const [part, isCompared, next] of given) {
        hashed.update(part);
        arrived.push(part);
        if (!isCompared) continue;
        expect(await hashed.digestWith(next)).toBe(hash("sha256", bytesOf([...arrived, next]), "hex"));
        expect(hashed.digest()).toBe(hash("sha256", bytesOf(arrived), "hex"));
      }
      if (arrived.length > 0) expect(hashed.digest()).toBe(hash("sha256", bytesOf(arrived), "hex"));
    }),
    { numRuns: 60 },
  );
});

test("the digest of a single chunk that is known beforehand is not made twice, and holds for that chunk alone", async () => {
  const hashed = new ChunkHash();
  const whole = Buffer.from("the sea");
  const known = await hashed.digestWith(whole);
  hashed.update(whole);
  expect(hashed.digest()).toBe(known);
  hashed.update(" is wide");
  expect(hashed.digest()).toBe(hash("sha256", "the sea is wide", "hex"));
});
