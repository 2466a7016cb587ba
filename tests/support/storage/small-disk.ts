import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OnEnd } from "../servers/database.ts";

/** A file system of its own, in memory. */
export type SmallDisk = { readonly folder: string; remount(option: "ro" | "rw"): void };

/** Mounts a file system of this size; undefined where the machine does not allow it. */
export function mountSmallDisk(sizeKib: number, onEnd: OnEnd): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), "zerograph-disk-"));
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { stdio: "ignore", timeout: 30_000 });
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${sizeKib}k`, "tmpfs", folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    if (process.env.REQUIRE_ALL) throw error;
    return undefined;
  }
  onEnd(async () => {
    // Files of the product may still be open.
    run("umount", "--lazy", folder);
    rmSync(folder, { recursive: true });
  });
  return { folder, remount: (option) => void run("mount", "-o", `remount,${option}`, folder) };
}
