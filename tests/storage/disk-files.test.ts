import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DiskFiles } from "../../src/storage/node/disk/disk-files.ts";
import { newFolder } from "../support/servers/process.ts";

const BYTES = 262_144;

test("a file that is deleted while it is written does not fail the writes, and can be deleted and written again", async () => {
  const files = new DiskFiles();
  onTestFinished(() => files.close());
  const path = join(newFolder(), "00", "file");
  const data = Buffer.alloc(BYTES, 7);
  for (let turn = 0; turn < 20; turn++) {
    const writes = Array.from({ length: 8 }, (_, at) => files.write(path, at * BYTES, data));
    await Promise.all([writes[0], files.remove(path)]);
    await Promise.all(writes);
    await files.remove(path);
    expect(existsSync(path)).toBe(false);
    await files.write(path, 0, data);
    expect(readFileSync(path).equals(data)).toBe(true);
  }
});
