import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StartupError } from "../../kernel/errors.ts";
import { makeFolder } from "../../kernel/writable-folder.ts";

const SQLITE_BUSY = 5;

/** Held while this process may use the data folder. The operating system releases it however the process ends. */
export type FolderLock = { release(): void };

/**
 * Locks the data folder for this process, or throws a `StartupError` at once if another process has locked it or it is
 * not writable: PGlite does not notice a second process in its folder and corrupts it. The lock is SQLite's own lock on a
 * side file, because it does not survive a kill -9.
 */
export function lockFolder(folder: string): FolderLock {
  let file: DatabaseSync | undefined;
  try {
    makeFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const opened = new DatabaseSync(join(folder, "lock.sqlite"), { timeout: 0 });
    file = opened;
    file.exec("pragma locking_mode = exclusive; pragma journal_mode = delete; begin exclusive;");
    return { release: () => opened.close() };
  } catch (cause) {
    file?.close();
    throw new StartupError(
      `DATA_DIR: the folder ${folder} ${problemOf(cause)}, or set DATA_DIR to another folder.`,
      { cause },
    );
  }
}

function problemOf(cause: unknown): string {
  if (Object(cause).errcode === SQLITE_BUSY) return "is in use by another process. Stop it";
  return `cannot be used (${(cause as Error).message}). Check its owner and its disk`;
}
