import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { until } from "../support/until.ts";

const run = promisify(execFile);
/** What an operating system writes to a disk at once. */
const PAGE_BYTES = 4_096;

/** Copies the folder of a process that stands still: what the operating system had of it at one instant. */
export async function copyFrozen(pid: number, from: string, to: string): Promise<void> {
  process.kill(pid, "SIGSTOP");
  try {
    await until(async () => {
      const { stdout } = await run("ps", ["-L", "-o", "stat=", "-p", `${pid}`]);
      return stdout
        .trim()
        .split("\n")
        .every((state) => state.trim().startsWith("T"));
    });
    await cp(from, to, { recursive: true });
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

/** Copies the folder of a running process file by file, as `cp -r` does: no file is of the same instant as the next. */
export async function copyRunning(from: string, to: string): Promise<void> {
  // It reports a file that was deleted meanwhile, and continues.
  await run("cp", ["-r", from, to]).catch(() => {});
}

/**
 * Writes a folder as a power failure leaves one whose files are never flushed: everything of `before` is on the disk,
 * and of each page, size and name that is different in `after`, either the old or the new.
 */
export async function mixPages(
  { before, after, to }: { readonly before: string; readonly after: string; readonly to: string },
  random: () => number,
): Promise<void> {
  const names = new Set([...(await filesOf(before)), ...(await filesOf(after))]);
  for (const folder of await foldersOf(after)) await mkdir(join(to, folder), { recursive: true });
  for (const name of names) {
    const [old, young] = await Promise.all([readIfThere(join(before, name)), readIfThere(join(after, name))]);
    const mixed = old && young ? mix(old, young, random) : pick(old, young, random);
    if (!mixed) continue;
    await mkdir(dirname(join(to, name)), { recursive: true });
    await writeFile(join(to, name), mixed);
  }
}

function mix(old: Buffer, young: Buffer, random: () => number): Buffer {
  if (old.equals(young)) return young;
  const mixed = Buffer.alloc(pick(old, young, random).length);
  for (let at = 0; at < mixed.length; at += PAGE_BYTES)
    // A page that only one of them has is a hole of zeros in the other.
    mixed.set(pick(old, young, random).subarray(at, Math.min(at + PAGE_BYTES, mixed.length)), at);
  return mixed;
}

function pick<T>(old: T, young: T, random: () => number): T {
  return random() < 0.5 ? old : young;
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch(() => undefined);
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

async function foldersOf(folder: string): Promise<readonly string[]> {
  const all = await readdir(folder, { recursive: true });
  const kinds = await Promise.all(all.map(async (name) => (await stat(join(folder, name))).isDirectory()));
  return all.filter((_, n) => kinds[n]);
}
