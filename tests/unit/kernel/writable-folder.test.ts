import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { StartupError } from "../../../src/kernel/errors.ts";
import { requireWritableFolder } from "../../../src/kernel/writable-folder.ts";
import { newFolder } from "../../support/servers/process.ts";
import { mountSmallDisk } from "../../support/storage/small-disk.ts";

const SETTING = "STORAGE_DIR";

test("a folder that can be written is created with its parents, and nothing is left in it", () => {
  const folder = join(newFolder(), "a/b");
  for (let n = 0; n < 2; n++) expect(requireWritableFolder(SETTING, folder)).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
});

test("a folder that cannot be created or written is refused with its setting, path and reason", () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  for (const [folder, reason] of [
    ["/dev/null", "ENOTDIR"],
    ["/proc/x", "ENOENT"],
    ["/proc", "ENOENT"],
    [file, "ENOTDIR"],
    [join(file, "below"), "ENOTDIR"],
  ] as const) {
    const check = () => requireWritableFolder(SETTING, folder);
    expect(check, folder).toThrow(StartupError);
    expect(check, folder).toThrow(`${SETTING}: the folder ${folder} cannot be used (${reason}: `);
  }
});

test("a read-only disk is refused, and a full one is reported", ({ skip }) => {
  const disk = mountSmallDisk(64, onTestFinished);
  if (!disk) return skip();
  mkdirSync(join(disk.folder, "files"));
  expect(() => writeFileSync(join(disk.folder, "filler"), Buffer.alloc(1_048_576))).toThrow("ENOSPC");
  expect(requireWritableFolder(SETTING, join(disk.folder, "files"))).toBe(false);
  expect(readdirSync(join(disk.folder, "files"))).toEqual([]);
  disk.remount("ro");
  expect(() => requireWritableFolder(SETTING, disk.folder)).toThrow(/^STORAGE_DIR: .*\(EROFS: /);
});
