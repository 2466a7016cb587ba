import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { mountSmallDisk } from "../support/storage/small-disk.ts";
import { newFile, openDisk, submit, upload } from "../support/storage/stored-files.ts";

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
