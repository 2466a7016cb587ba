// @module-tag large
import { readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { SEGMENT_BYTES } from "../../src/storage/merkle/shape.ts";
import type { NodeFile } from "../../src/storage/node/storage-node.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import {
  found,
  newFile,
  type OwnFile,
  openDisk,
  submit,
  unsubmit,
  upload,
} from "../support/storage/stored-files.ts";
import { until } from "../support/until.ts";

const KIB = 1_024;

describeDatabases("the storage node on disk", (kind) => {
  const ends: (() => Promise<void>)[] = [];
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase(kind, { onEnd: (end) => void ends.unshift(end) });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("a submitted and complete file is finalized, and reads as uploaded", async () => {
    const node = openDisk(database);
    for (const size of [1, 256, 700 * KIB, SEGMENT_BYTES, 4_194_305]) {
      const file = newFile(size);
      const txSeq = await submit(database, node, file);
      expect(await found(node, file)).toMatchObject({ txSeq, uploadedSegments: 0, finalized: false });
      await upload(node, file);
      const here = await found(node, file);
      const { segments } = file.tree.shape;
      expect(here).toMatchObject({ sizeBytes: size, segments, uploadedSegments: segments, finalized: true });
      expect(await node.find([{ txSeq }])).toEqual([here]);
      for (let index = 0; index < segments; index++) {
        expect(await node.readWithProof(here, index)).toEqual(file.segment(index));
        expect((await node.read(here, index)).equals(file.segment(index).data)).toBe(true);
      }
    }
  });

  test("segments count once, however often and concurrently they arrive", async () => {
    const notified: NodeFile[] = [];
    const node = openDisk(database, { progressed: async (_tx, files) => void notified.push(...files) });
    const file = newFile(1_300 * KIB);
    await submit(database, node, file);
    const order = [5, 0, 0, 3, 0, 1, 2, 2, 4, 5, 1].filter((index) => index < file.tree.shape.segments);
    const outcomes = await Promise.all(order.map((index) => node.put(file.segment(index))));
    expect(outcomes.filter(({ kind: outcome }) => outcome === "stored")).toHaveLength(
      file.tree.shape.segments,
    );
    const counts = notified.map(({ uploadedSegments }) => uploadedSegments);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(notified.at(-1)).toMatchObject({ finalized: true, uploadedSegments: file.tree.shape.segments });
    expect(notified.filter(({ finalized }) => finalized)).toHaveLength(1);
    expect(await node.put(file.segment(0))).toMatchObject({ kind: "finalized" });
  });

  test("an invalid segment is refused with the faulty field, and none of it is stored", async () => {
    const node = openDisk(database);
    const [file, other] = [newFile(5 * SEGMENT_BYTES - 3), newFile(5 * SEGMENT_BYTES - 3)];
    const txSeq = await submit(database, node, file);
    const otherSeq = await submit(database, node, other);
    const good = file.segment(2);
    const wrong: [object, string, string, bigint?][] = [
      [{ data: other.segment(2).data }, "proof", "validation failed"],
      [{ proof: other.segment(2).proof }, "proof", "validation failed"],
      [{ proof: file.segment(1).proof }, "proof", "invalid proof"],
      [{ index: 1 }, "proof", "invalid proof"],
      [{ index: 5 }, "index", "index out of bound"],
      [{ index: 2 ** 53 }, "index", "index out of bound"],
      [{ index: -1 }, "index", "index out of bound"],
      [{ data: good.data.subarray(256) }, "data", "invalid data length"],
      [{ data: Buffer.concat([good.data, Buffer.alloc(256)]) }, "data", "invalid data length"],
      [{ data: Buffer.alloc(0) }, "data", "data is empty"],
      [{ sizeBytes: good.sizeBytes + 1 }, "fileSize", "segment file size not matched with tx file size"],
      [
        { proof: { lemma: Array(5_000).fill(file.root), path: Array(4_998).fill(true) } },
        "proof",
        "invalid proof",
      ],
      [{}, "root", "data root and tx seq not match", otherSeq],
    ];
    for (const [change, param, message, seq] of wrong)
      await expect(node.put({ ...good, ...change }, seq), message).rejects.toMatchObject({
        code: "segment_refused",
        param,
        message,
      });
    await expect(node.put(good, 9_999n)).rejects.toMatchObject({ code: "file_not_found" });
    const unknown = newFile(300);
    const { sizeBytes: _, ...sizeless } = unknown.segment(0);
    await expect(node.put(sizeless)).rejects.toMatchObject({ code: "file_not_found" });
    expect(await found(node, file)).toMatchObject({ uploadedSegments: 0 });
    expect(readdirSync(node.folder)).toEqual([]);
    expect(await node.put(good, txSeq)).toMatchObject({ kind: "stored", file: { uploadedSegments: 1 } });
  });

  test("segments may arrive before their submission, up to 10 MiB per file", async () => {
    const notified: NodeFile[] = [];
    const node = openDisk(database, { progressed: async (_tx, files) => void notified.push(...files) });
    const file = newFile(600 * KIB);
    await upload(node, file);
    expect(await found(node, file)).toMatchObject({ txSeq: undefined, isCached: true, finalized: false });
    const large = { ...newFile(300).segment(0), sizeBytes: 10 * 2 ** 20 + 1 };
    await expect(node.put(large)).rejects.toMatchObject({
      code: "file_too_large",
      message: "caching of large file when tx is unavailable is not supported",
    });
    await expect(node.read(await found(node, file), 0)).rejects.toMatchObject({ code: "file_not_finalized" });
    const txSeq = await submit(database, node, file);
    expect(await found(node, file)).toMatchObject({ txSeq, isCached: false, finalized: true });
  });

  test("a false size before the submission does not affect an upload with the true size", async () => {
    const node = openDisk(database);
    const file = newFile(5 * SEGMENT_BYTES);
    // The fifth segment of five, at the place of the third of three.
    await node.put({ ...file.segment(4), index: 2, sizeBytes: 3 * SEGMENT_BYTES });
    expect(await found(node, file)).toMatchObject({ finalized: false });
    await submit(database, node, file);
    await upload(node, file);
    const here = await found(node, file);
    expect(here).toMatchObject({ finalized: true, segments: 5 });
    expect((await node.read(here, 2)).equals(file.segment(2).data)).toBe(true);
  });

  test("a submission with a false file shape does not hide the true one", async () => {
    const node = openDisk(database);
    const file = newFile(5 * SEGMENT_BYTES);
    await submit(database, node, file, { sizeBytes: 256, sectors: 1 });
    const txSeq = await submit(database, node, file);
    await upload(node, file);
    expect(await found(node, file)).toMatchObject({ txSeq, sizeBytes: 5 * SEGMENT_BYTES, finalized: true });
  });

  test("files that differ only in their trailing zeros share their bytes", async () => {
    const node = openDisk(database);
    const bytes = Buffer.concat([Buffer.alloc(16 * SEGMENT_BYTES, 7), Buffer.from("end")]);
    const short = newFile(bytes);
    const long = newFile(Buffer.concat([bytes, Buffer.alloc(2 * SEGMENT_BYTES - 3)]));
    expect(long.root).toBe(short.root);
    const [shortSeq, longSeq] = [await submit(database, node, short), await submit(database, node, long)];
    expect(long.tree.shape.segments).toBe(short.tree.shape.segments + 1);
    await upload(node, short);
    const [first, second] = await node.find([{ txSeq: shortSeq }, { txSeq: longSeq }]);
    if (!first || !second) throw new Error("they are missing");
    expect([first.finalized, second.finalized, second.uploadedSegments]).toEqual([true, true, 18]);
    expect((await node.read(second, 17)).equals(Buffer.alloc(SEGMENT_BYTES))).toBe(true);
    expect((await node.read(second, 16)).subarray(0, 4).toString()).toBe("end\0");
  });

  test("another process on the same folder continues from the stored state", async () => {
    const file = newFile(5 * SEGMENT_BYTES);
    const first = openDisk(database);
    await submit(database, first, file);
    await first.put(file.segment(0));
    await first.put(file.segment(3));
    const second = openDisk(database, { folder: first.folder });
    expect(await found(second, file)).toMatchObject({ uploadedSegments: 2 });
    await Promise.all([1, 2, 4].map((index) => (index === 2 ? first : second).put(file.segment(index))));
    for (const node of [first, second]) {
      const here = await found(node, file);
      expect(here.finalized).toBe(true);
      for (let index = 0; index < 5; index++)
        expect((await node.read(here, index)).equals(file.segment(index).data)).toBe(true);
    }
  });

  test("a reorg revokes finality, and the bytes stay for the next submission", async () => {
    const node = openDisk(database);
    const file = newFile(300 * KIB);
    await submit(database, node, file);
    await upload(node, file);
    expect((await found(node, file)).finalized).toBe(true);
    await unsubmit(database, node, file);
    expect(await found(node, file)).toMatchObject({ finalized: false, txSeq: undefined });
    await submit(database, node, file);
    expect((await found(node, file)).finalized).toBe(true);
  });

  test("a reorg seen by another process takes effect within seconds", async () => {
    const watching = openDisk(database);
    const serving = openDisk(database, { folder: watching.folder });
    const file = newFile(300 * KIB);
    await submit(database, watching, file);
    await upload(watching, file);
    expect((await found(serving, file)).finalized).toBe(true);
    await unsubmit(database, watching, file);
    await until(async () => expect(await found(serving, file)).toMatchObject({ finalized: false }));
  });

  test("one statement checks whether all previously found files are unchanged", async () => {
    const node = openDisk(database);
    const files = Array.from({ length: 20 }, () => newFile(100));
    for (const file of files) await submit(database, node, file);
    for (const file of files) await upload(node, file);
    const ids = files.map(({ root }) => ({ root }));
    const first = await node.find(ids);
    const rows = vi.spyOn(database, "rows");
    expect(await node.find(ids)).toEqual(first);
    expect(rows.mock.calls.length).toBeLessThanOrEqual(1);
    rows.mockRestore();
  });

  test("segments that are never submitted are deleted after their retention time, and may be uploaded again", async () => {
    const database = await openTestDatabase(kind);
    const node = openDisk(database);
    const [lost, kept, late] = [newFile(600 * KIB), newFile(600 * KIB), newFile(200)];
    await submit(database, node, kept);
    for (const file of [lost, kept, late]) await upload(node, file);
    await database.rows(
      "update held_file set unsubmitted_since = now() - interval '25 hours' where root <> $1",
      [kept.root],
    );
    // Its submission was written in a transaction that did not see the file.
    await submit(database, undefined, late);
    expect(await node.sweep()).toBe(1);
    expect(await node.find([{ root: lost.root }])).toEqual([undefined]);
    expect((await found(node, late)).finalized).toBe(true);
    expect((await found(node, kept)).finalized).toBe(true);
    expect(filesIn(node.folder).filter((name) => name.startsWith(lost.root.slice(2)))).toEqual([]);
    expect(await usage(database)).toEqual({ bytes: bytesOf(kept, late), unsubmitted: 0 });
    await upload(node, lost);
    expect(await found(node, lost)).toMatchObject({ isCached: true, uploadedSegments: 3 });
  });

  test("the quota is never exceeded, and unpaid segments use at most a tenth of it", async () => {
    const database = await openTestDatabase(kind);
    const node = openDisk(database, { quotaBytes: 4 * 2 ** 20 });
    const [early, paid, more] = [newFile(300 * KIB), newFile(3 * 2 ** 20), newFile(2 * 2 ** 20)];
    await upload(node, early, 1);
    await expect(node.put(newFile(200 * KIB).segment(0))).rejects.toMatchObject({ code: "storage_full" });
    for (const file of [paid, more]) await submit(database, node, file);
    await upload(node, paid, 1);
    await expect(upload(node, more, 1)).rejects.toMatchObject({ code: "storage_full", status: 507 });
    expect((await found(node, paid)).finalized).toBe(true);
    await submit(database, node, early);
    expect((await usage(database)).unsubmitted).toBe(0);
  });

  test("a corrupted segment is detected, never sent, and repaired by another upload", async () => {
    const node = openDisk(database);
    const file = newFile(5 * SEGMENT_BYTES);
    await submit(database, node, file);
    await upload(node, file);
    const here = await found(node, file);
    await damage(join(node.folder, dataOf(node.folder, file)), 3 * SEGMENT_BYTES + 77);
    expect((await node.read(here, 2)).equals(file.segment(2).data)).toBe(true);
    const trusting = openDisk(database, { folder: node.folder, verifies: false });
    expect((await trusting.read(here, 3)).equals(file.segment(3).data)).toBe(false);
    await expect(node.read(here, 3)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await found(node, file)).toMatchObject({ finalized: false, uploadedSegments: 4 });
    await node.put(file.segment(3));
    const healed = await found(node, file);
    expect(healed.finalized).toBe(true);
    expect((await node.read(healed, 3)).equals(file.segment(3).data)).toBe(true);
  });

  test("damaged segment roots are recomputed from the bytes", async () => {
    const file = newFile(5 * SEGMENT_BYTES);
    const writer = openDisk(database);
    await submit(database, writer, file);
    await upload(writer, file);
    const { folder } = writer;
    for (const harm of ["flip", "cut", "delete"] as const) {
      const path = `${join(folder, dataOf(folder, file))}.roots`;
      if (harm === "flip") await damage(path, 40);
      else if (harm === "cut") truncateSync(path, 33);
      else rmSync(path);
      const reader = openDisk(database, { folder });
      const here = await found(reader, file);
      expect(await reader.readWithProof(here, 1)).toEqual(file.segment(1));
    }
  });

  test("segments whose bytes are gone are reported missing, and the upload starts again", async () => {
    const file = newFile(300);
    const writer = openDisk(database);
    await submit(database, writer, file);
    await upload(writer, file);
    writeFileSync(join(writer.folder, dataOf(writer.folder, file)), "");
    const node = openDisk(database, { folder: writer.folder });
    expect(await found(node, file)).toMatchObject({ finalized: false, uploadedSegments: 0 });
    await upload(node, file);
    expect((await node.read(await found(node, file), 0)).subarray(0, 300).equals(file.bytes)).toBe(true);
  });
});

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );
}

function dataOf(folder: string, file: OwnFile): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const name = names.find((path) => path.includes(`${file.root.slice(2)}-`) && !path.endsWith(".roots"));
  if (!name) throw new Error("its bytes are missing");
  return name;
}

async function damage(path: string, position: number): Promise<void> {
  const handle = await open(path, "r+");
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, position);
  await handle.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, position);
  await handle.close();
}

function bytesOf(...files: readonly OwnFile[]): number {
  return files.reduce((sum, { tree }) => sum + Math.ceil(tree.shape.chunks / 16) * 4_096, 0);
}

async function usage(database: Database): Promise<{ bytes: number; unsubmitted: number }> {
  const [row] = await database.rows<{ bytes: string; unsubmitted: string }>(
    "select bytes::text as bytes, unsubmitted::text as unsubmitted from held_bytes",
  );
  return { bytes: Number(row?.bytes), unsubmitted: Number(row?.unsubmitted) };
}
