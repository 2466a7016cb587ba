import { policyOf } from "../../src/accounts/retention/retention.service.ts";
import type { Config } from "../../src/config.ts";
import type { Logger } from "../../src/kernel/log.ts";
import { requireWritableFolder } from "../../src/kernel/writable-folder.ts";
import { storageFolderOf } from "../../src/storage/node/module.ts";

/** What a process writes to: its data folder, the files of a local storage node, the archives of the retention. */
export type FolderUse = "data" | "files" | "archives";

/**
 * Creates the folders that a process writes to, and a file in each. Throws a `StartupError` that names the setting of
 * one that cannot be used. A full disk is no wrong setting: it is logged, and the process starts.
 */
export function requireFolders(config: Config, uses: readonly FolderUse[], log: Logger): void {
  for (const use of uses) {
    const folder = folderOf(config, use);
    if (folder === undefined || requireWritableFolder(folder.setting, folder.path)) continue;
    log.error({ folder: folder.path }, `${folder.setting} has no space left`);
  }
}

function folderOf(config: Config, use: FolderUse): { setting: string; path: string } | undefined {
  if (use === "data") return { setting: "DATA_DIR", path: config.DATA_DIR };
  if (use === "files") return storageFolderOf(config);
  const path = policyOf(config)?.folder;
  return path === undefined ? undefined : { setting: "RETENTION_ARCHIVE_FOLDER", path };
}
