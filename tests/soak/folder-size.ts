import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const BLOCK_BYTES = 512;

/** The disk space of all files below `folder` that `skip` does not name, bytes; 0 if there is no such folder. */
export async function folderBytes(folder: string, skip: readonly string[] = []): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (skip.includes(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await folderBytes(path);
    // A file that is removed meanwhile has no size.
    else
      bytes += await stat(path).then(
        ({ blocks }) => blocks * BLOCK_BYTES,
        () => 0,
      );
  }
  return bytes;
}
