// @module-tag large
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { HASH_BYTES, Keccak } from "../../src/storage/keccak/keccak.ts";
import { emptyRoots } from "../../src/storage/merkle/file-tree.ts";
import { toHex } from "../../src/storage/merkle/proof.ts";
import { SegmentTree } from "../../src/storage/merkle/segment-tree.ts";
import { fileShape, MAX_FILE_BYTES, SEGMENT_BYTES, SEGMENT_CHUNKS } from "../../src/storage/merkle/shape.ts";
import type { NodeFile } from "../../src/storage/node/storage-node.ts";
import { longestTurnMs } from "../support/attack/event-loop.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { found, type OwnFile, openDisk, submit } from "../support/storage/stored-files.ts";

const READERS = 24;
/** 50 ms, plus slack for a busy machine. */
const MAX_TURN_MS = 100;

describeDatabases("the tree of a file of 64 GiB", (kind) => {
  const ends: (() => Promise<void>)[] = [];
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase(kind, { onEnd: (end) => void ends.unshift(end) });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("is read once for many readers of its segments while it is incomplete, and other work goes on", async () => {
    const keccak = new CountingKeccak();
    const node = openDisk(database, { keccak });
    const file = largeFile([0, 1, 2]);
    await submit(database, node, file);
    await node.put(file.segment(0));
    const known = await found(node, file);
    expect(known).toMatchObject({ finalized: false, uploadedSegments: 1, segments: 262_144 });
    keccak.levels = 0;
    const turnMs = await longestTurnMs(() => readAll(node, known, "file_not_finalized"));
    const once = keccak.levels;
    expect(once).toBeGreaterThan(0);
    expect(once).toBeLessThan(2 * LEVELS);
    expect(turnMs).toBeLessThan(MAX_TURN_MS);
    await readAll(node, known, "file_not_finalized");
    expect(keccak.levels).toBe(once);

    // The roots of segments without bytes are those of zeros.
    for (const index of [1, 2]) await node.put(file.segment(index));
    await database.rows("update held_file set complete_at = now() where root = $1", [file.root]);
    const whole: NodeFile = { ...known, finalized: true };
    const readMs = await longestTurnMs(async () => {
      const read = await node.read(whole, 2);
      expect(read.equals(file.segment(2).data)).toBe(true);
    });
    expect(readMs).toBeLessThan(MAX_TURN_MS);
  });

  async function readAll(node: ReturnType<typeof openDisk>, file: NodeFile, code: string): Promise<void> {
    const reads = Array.from({ length: READERS }, (_, index) => node.read(file, index % 3));
    for (const read of await Promise.allSettled(reads))
      expect(read).toMatchObject({ status: "rejected", reason: { code } });
  }
});

/** The calls of one tree: 32 of its lowest level, and half as many of each level above, but at least one. */
const LEVELS = 80;

/** Counts how often a part of a level is hashed. */
class CountingKeccak extends Keccak {
  levels = 0;

  override nextLevel(hashes: Uint8Array): Uint8Array {
    this.levels++;
    return super.nextLevel(hashes);
  }
}

/** A file whose segments are random where they are listed, and zeros elsewhere. */
function largeFile(random: readonly number[]): OwnFile {
  const keccak = new Keccak();
  const shape = fileShape(MAX_FILE_BYTES);
  const zeros = emptyRoots(keccak)(SEGMENT_CHUNKS);
  const roots = Buffer.alloc(shape.paddedSegments * HASH_BYTES, zeros);
  const contents = new Map(random.map((index) => [index, randomBytes(SEGMENT_BYTES)]));
  for (const [index, data] of contents)
    roots.set(keccak.rootOfChunks(data, SEGMENT_CHUNKS), index * HASH_BYTES);
  const tree = SegmentTree.build(keccak, roots);
  const nodes = [{ root: toHex(tree.hash(18, 0)), height: 28 }];
  return {
    bytes: { length: MAX_FILE_BYTES } as Buffer,
    tree: { root: tree.root, shape, nodes, proof: (index) => tree.proof(index) },
    root: tree.root,
    segment: (index) => ({
      root: tree.root,
      index,
      data: contents.get(index) ?? Buffer.alloc(SEGMENT_BYTES),
      proof: tree.proof(index),
      sizeBytes: MAX_FILE_BYTES,
    }),
  };
}
