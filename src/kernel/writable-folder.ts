import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StartupError } from "./errors.ts";

/** A disk without space: it needs no other setting, and what it has can still be read. */
const FULL: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/** Node's own way to make a folder with its parents never returns where one of them cannot have any, as in `/proc`. */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = resolve(folder); !existsSync(at); at = dirname(at)) missing.push(at);
  for (const path of missing.toReversed())
    try {
      mkdirSync(path);
    } catch (error) {
      // Another process may be making it too.
      if (!existsSync(path)) throw error;
    }
}

/**
 * Creates a folder that a setting names, and a file in it, which is removed. Throws a `StartupError` that names the
 * setting if this fails, except on a full disk: then it returns false.
 */
export function requireWritableFolder(setting: string, folder: string): boolean {
  try {
    makeFolder(folder);
    const probe = join(folder, `.zerograph-${randomUUID()}`);
    try {
      writeFileSync(probe, "zerograph", { flag: "wx", flush: true });
    } finally {
      rmSync(probe, { force: true });
    }
    return true;
  } catch (cause) {
    if (FULL.includes((cause as NodeJS.ErrnoException).code)) return false;
    throw new StartupError(
      `${setting}: the folder ${folder} cannot be used (${(cause as Error).message}). Check its owner and its disk, or set ${setting} to another folder.`,
      { cause },
    );
  }
}
