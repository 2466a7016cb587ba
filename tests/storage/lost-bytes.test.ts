// @module-tag large
import { copyFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { SEGMENT_BYTES } from "../../src/storage/merkle/shape.ts";
import type { DiskNode } from "../../src/storage/node/disk/disk-node.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { found, newFile, type OwnFile, openDisk, submit, upload } from "../support/storage/stored-files.ts";
import { until } from "../support/until.ts";

describeDatabases("bytes lost under a running storage node", (kind) => {
  const ends: (() => Promise<void>)[] = [];
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase(kind, { onEnd: (end) => void ends.unshift(end) });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  /** A node with a finalized file of five segments. */
  async function stored(segments = 5) {
    const node = openDisk(database);
    const file = newFile(segments * SEGMENT_BYTES - 3);
    await submit(database, node, file);
    await upload(node, file);
    expect((await found(node, file)).finalized).toBe(true);
    return { node, file, path: dataOf(node.folder, file) };
  }

  const LOSSES: readonly (readonly [string, (path: string, folder: string) => void])[] = [
    ["is deleted", (path) => rmSync(path)],
    [
      "is deleted with its segment roots",
      (path) => {
        for (const name of [path, `${path}.roots`]) rmSync(name);
      },
    ],
    [
      "is deleted with its whole folder",
      (_, folder) => {
        for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      },
    ],
    ["is truncated", (path) => truncateSync(path, 2 * SEGMENT_BYTES)],
    ["is emptied", (path) => truncateSync(path)],
    [
      "is replaced by another one",
      (path) => {
        writeFileSync(`${path}.new`, Buffer.alloc(SEGMENT_BYTES, 7));
        renameSync(`${path}.new`, path);
      },
    ],
  ];

  test.each(LOSSES)("when a file %s, uploading it again writes it again", async (_what, lose) => {
    const { node, file, path } = await stored();
    lose(path, node.folder);
    await upload(node, file);
    await expectOnDisk(node, file);
  });

  test("a file is not reported as finalized while its bytes are missing, and all segments are requested again", async () => {
    const { node, file, path } = await stored();
    rmSync(path);
    await until(async () =>
      expect(await found(node, file)).toMatchObject({ finalized: false, uploadedSegments: 0 }),
    );
    const outcome = await node.put(file.segment(3));
    expect(outcome).toMatchObject({ kind: "stored", file: { finalized: false, uploadedSegments: 1 } });
    await upload(node, file);
    await expectOnDisk(node, file);
  });

  test("a file deleted in the middle of its upload is not finalized by the rest of it", async () => {
    const node = openDisk(database);
    const file = newFile(5 * SEGMENT_BYTES);
    await submit(database, node, file);
    for (const index of [0, 1, 2]) await node.put(file.segment(index));
    rmSync(dataOf(node.folder, file));
    for (const index of [3, 4]) await node.put(file.segment(index));
    expect(await found(node, file)).toMatchObject({ finalized: false, uploadedSegments: 2 });
    await upload(node, file);
    await expectOnDisk(node, file);
  });

  test("a file that two processes create again keeps the segments of both", async () => {
    const [slow, gate] = gated(database);
    const node = openDisk(database);
    const other = openDisk(slow, { folder: node.folder });
    const file = newFile(5 * SEGMENT_BYTES);
    await submit(database, node, file);
    for (const index of [0, 1, 2]) await node.put(file.segment(index));
    rmSync(dataOf(node.folder, file));
    const late = other.put(file.segment(3));
    await gate.reached;
    await node.put(file.segment(4));
    gate.open();
    expect(await late).toMatchObject({ kind: "stored", file: { uploadedSegments: 2 } });
    expect(await node.put(file.segment(4))).toMatchObject({ kind: "duplicate" });
    await upload(other, file);
    await expectOnDisk(node, file);
  });

  test("a file restored from a copy is read and written in its place", async () => {
    const { node, file, path } = await stored();
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await upload(node, file);
    await expectOnDisk(node, file);
  });

  test("one damaged segment is requested again, and the others stay readable meanwhile", async () => {
    const { node, file, path } = await stored();
    await damage(path, 3 * SEGMENT_BYTES + 5);
    await expect(node.read(await found(node, file), 3)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    const here = await found(node, file);
    expect(here).toMatchObject({ finalized: false, uploadedSegments: 4 });
    for (const index of [0, 1, 2, 4]) {
      expect((await node.read(here, index)).equals(file.segment(index).data)).toBe(true);
      expect(await node.readWithProof(here, index)).toEqual(file.segment(index));
    }
    await expect(node.read(here, 3)).rejects.toMatchObject({ code: "file_not_finalized" });
    expect(await node.put(file.segment(3))).toMatchObject({ file: { finalized: true } });
    await expectOnDisk(node, file);
  });

  test("a damaged segment that was never read is written again when it is uploaded again", async () => {
    for (const segments of [1, 5]) {
      const { node, file, path } = await stored(segments);
      await damage(path, 9);
      expect(await node.put(file.segment(0))).toMatchObject({ kind: "stored", file: { finalized: true } });
      expect(await node.put(file.segment(0))).toMatchObject({ kind: "finalized" });
      await expectOnDisk(node, file);
    }
  });

  /** A process that opens the folder again reads the whole file. */
  async function expectOnDisk({ folder }: DiskNode & { readonly folder: string }, file: OwnFile) {
    const reader = openDisk(database, { folder });
    const here = await found(reader, file);
    expect(here).toMatchObject({ finalized: true, uploadedSegments: here.segments });
    for (let index = 0; index < here.segments; index++)
      expect((await reader.read(here, index)).equals(file.segment(index).data), `segment ${index}`).toBe(
        true,
      );
  }
});

function dataOf(folder: string, file: OwnFile): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const name = names.find((path) => path.includes(`${file.root.slice(2)}-`) && !path.endsWith(".roots"));
  if (!name) throw new Error("its bytes are missing");
  return join(folder, name);
}

async function damage(path: string, position: number): Promise<void> {
  const handle = await open(path, "r+");
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, position);
  await handle.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, position);
  await handle.close();
}

/** The same database, whose first change of segments waits until the gate is opened. */
function gated(
  database: Database,
): readonly [Database, { readonly reached: Promise<void>; readonly open: () => void }] {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pass = async () => {
    reached.resolve();
    await opened.promise;
  };
  const slow = new Proxy(database, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return async (...given: readonly unknown[]) => {
        if (name === "transaction" || String(given[0]).includes("delete from held_segment")) await pass();
        return member.apply(target, given);
      };
    },
  });
  return [slow, { reached: reached.promise, open: opened.resolve }];
}
