import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { mountSmallDisk } from "../support/storage/small-disk.ts";
import { newFile, type OwnFile, openDisk, submit, upload } from "../support/storage/stored-files.ts";

const ends: (() => Promise<void>)[] = [];
let database: Database;
beforeAll(async () => {
  database = await openTestDatabase(undefined, { onEnd: (end) => void ends.unshift(end) });
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** Expects that a node on this folder refuses an upload for this reason. Returns how to repeat the upload. */
async function requireRefusal(folder: string, reason: string) {
  const node = openDisk(database, { folder });
  const file = newFile(1_000);
  await submit(database, node, file);
  expect(node.writeFault).toBeUndefined();
  await expect(upload(node, file)).rejects.toMatchObject({
    code: "unavailable",
    message: `The storage disk is unusable: ${reason}. Try again later.`,
  });
  expect(node.writeFault).toBe(reason);
  return () => upload(node, file);
}

test("a disk that becomes read-only refuses uploads, and accepts them when it can be written", async ({
  skip,
}) => {
  const disk = mountSmallDisk(256, onTestFinished);
  if (!disk) return skip();
  disk.remount("ro");
  const uploadAgain = await requireRefusal(disk.folder, "read-only");
  disk.remount("rw");
  await uploadAgain();
});

test("a folder that becomes a file refuses uploads", async () => {
  const path = join(newFolder(), "file");
  writeFileSync(path, "");
  await requireRefusal(path, "not writable");
});

test("a file that cannot be deleted keeps its row, and is deleted by a later sweep; all others are deleted at once", async () => {
  const node = openDisk(database);
  const [stuck, other] = [newFile(600_000), newFile(600_000)];
  for (const file of [stuck, other]) await upload(node, file);
  const old = [stuck.root, other.root];
  await database.rows(
    "update held_file set unsubmitted_since = now() - interval '25 hours' where root in ($1::text, $2::text)",
    old,
  );
  const pathsOf = ({ root }: OwnFile) =>
    readdirSync(node.folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.includes(root.slice(2)))
      .map((name) => join(node.folder, name));
  const rootsHeld = async () =>
    (
      await database.rows<{ root: string }>(
        "select root from held_file where root in ($1::text, $2::text)",
        old,
      )
    ).map(({ root }) => root);
  const path = pathsOf(stuck).find((name) => !name.endsWith(".roots")) ?? "";
  rmSync(path);
  mkdirSync(path);
  await expect(node.sweep()).rejects.toThrow();
  expect(await rootsHeld()).toEqual([stuck.root]);
  expect(pathsOf(other)).toEqual([]);
  rmSync(path, { recursive: true });
  expect(await node.sweep()).toBe(1);
  expect(await rootsHeld()).toEqual([]);
  expect(pathsOf(stuck)).toEqual([]);
});
