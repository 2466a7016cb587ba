import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StartupError } from "../kernel/errors.ts";

/** Held while this process may use the data folder. The operating system releases it however the process ends. */
export type FolderLock = { release(): void };

/**
 * Locks the data folder for this process, or throws a `StartupError` at once: PGlite does not notice a second process
 * in its folder and corrupts it. The lock is SQLite's own lock on a side file, because it does not survive a kill -9.
 */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true });
  const file = new DatabaseSync(join(folder, "lock.sqlite"), { timeout: 0 });
  try {
    file.exec("pragma locking_mode = exclusive; pragma journal_mode = delete; begin exclusive;");
  } catch {
    file.close();
    throw new StartupError(
      `DATA_DIR: the folder ${folder} is in use by another process. Stop it, or set DATA_DIR to another folder.`,
    );
  }
  return { release: () => file.close() };
}
