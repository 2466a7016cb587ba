import { describe, expect, test } from "vitest";
import { AppError } from "../../src/kernel/errors.ts";
import { SEGMENT_BYTES } from "../../src/storage/merkle/shape.ts";
import { FileReader } from "../../src/storage/node/file-reader.ts";
import type { NodeFile } from "../../src/storage/node/storage-node.ts";
import { newFile, type OwnFile } from "../support/storage/stored-files.ts";
import { until } from "../support/until.ts";

/** A file on a node in memory, and the reads of that node: they wait for `open` where there is a gate. */
function held(file: OwnFile, gate?: Promise<void>) {
  const reads: number[] = [];
  const aborted: number[] = [];
  const node = {
    async read(_file: NodeFile, index: number, signal?: AbortSignal): Promise<Buffer> {
      reads.push(index);
      signal?.addEventListener("abort", () => aborted.push(index));
      await gate;
      return file.segment(index).data;
    },
  };
  const here: NodeFile = {
    root: file.root,
    sizeBytes: file.bytes.length,
    txSeq: 0n,
    startEntryIndex: 1n,
    segments: file.tree.shape.segments,
    uploadedSegments: file.tree.shape.segments,
    finalized: true,
    isCached: false,
    pruned: false,
  };
  return { node, here, reads, aborted };
}

const file = newFile(7 * SEGMENT_BYTES + 301);

describe("reading files", () => {
  test("any range returns exactly its bytes, without the padding after the end", async () => {
    const { node, here } = held(file);
    const reader = new FileReader({ node, cacheBytes: 0 });
    const end = file.bytes.length;
    const places = [0, 1, 255, 256, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, end - 1, end];
    for (const from of places)
      for (const to of places.filter((place) => place >= from)) {
        const bytes = await reader.read(here, { start: from, end: to });
        expect(bytes.equals(file.bytes.subarray(from, to)), `${from}-${to}`).toBe(true);
      }
  });

  test("fifty concurrent readers read each segment once, and all receive the same bytes", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { node, here, reads } = held(file, promise);
    const reader = new FileReader({ node, cacheBytes: 32 * 2 ** 20 });
    const all = Array.from({ length: 50 }, () => reader.read(here));
    resolve();
    for (const bytes of await Promise.all(all)) expect(bytes.equals(file.bytes)).toBe(true);
    expect([...reads].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await reader.read(here);
    expect(reads).toHaveLength(8);
  });

  test("a file that would fill the shared cache is not cached", async () => {
    const { node, here, reads } = held(file);
    const reader = new FileReader({ node, cacheBytes: 4 * SEGMENT_BYTES });
    await reader.read(here);
    await reader.read(here);
    expect(reads).toHaveLength(16);
  });

  test("at most four segments are read ahead", async () => {
    const { node, here, reads } = held(file);
    const stream = new FileReader({ node, cacheBytes: 0 }).stream(here);
    await stream.next();
    await until(() => reads.length === 5);
    await new Promise((resolve) => setImmediate(resolve));
    expect(reads).toEqual([0, 1, 2, 3, 4]);
    await stream.return();
  });

  test("ending a stream aborts only the reads that no other stream needs", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { node, here, aborted } = held(file, promise);
    const reader = new FileReader({ node, cacheBytes: 0 });
    const [leaving, staying] = [reader.stream(here), reader.stream(here, { start: 0, end: SEGMENT_BYTES })];
    const [left, stayed] = [leaving.next(), staying.next()];
    expect(await leaving.return()).toEqual({ done: true, value: undefined });
    expect(await left).toEqual({ done: true, value: undefined });
    expect([...aborted].sort()).toEqual([1, 2, 3]);
    resolve();
    const { value } = await stayed;
    expect(value?.equals(file.bytes.subarray(0, SEGMENT_BYTES))).toBe(true);
    expect(await leaving.next()).toEqual({ done: true, value: undefined });
  });

  test("a segment that cannot be read ends the stream with its error, and may be readable later", async () => {
    const { node, here } = held(file);
    let fails = true;
    const read = async (asked: NodeFile, index: number) => {
      if (index === 2 && fails) throw new AppError("storage_unavailable", "gone");
      return node.read(asked, index);
    };
    const reader = new FileReader({ node: { read }, cacheBytes: 0 });
    const parts: Buffer[] = [];
    const reading = (async () => {
      for await (const part of reader.stream(here)) parts.push(part);
    })();
    await expect(reading).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(Buffer.concat(parts).equals(file.bytes.subarray(0, 2 * SEGMENT_BYTES))).toBe(true);
    fails = false;
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
  });

  test("files that are not finalized or were dropped, and ranges beyond the end, are refused", async () => {
    const { node, here } = held(file);
    const reader = new FileReader({ node, cacheBytes: 0 });
    expect(() => reader.stream({ ...here, finalized: false })).toThrow(
      expect.objectContaining({ code: "file_not_finalized" }),
    );
    expect(() => reader.stream({ ...here, pruned: true })).toThrow(
      expect.objectContaining({ code: "file_pruned" }),
    );
    for (const range of [
      { start: -1, end: 3 },
      { start: 3, end: 2 },
      { start: 0, end: file.bytes.length + 1 },
    ])
      expect(() => reader.stream(here, range)).toThrow(RangeError);
    await expect(reader.read({ ...here, sizeBytes: 2 ** 27 })).rejects.toThrow(RangeError);
  });
});
