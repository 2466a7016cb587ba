import type { Hex } from "../../../../../../src/kernel/text/hex.ts";
import { encodeFolder } from "../../../../../../src/storage/folders/folder-writer.ts";

type ListedFile = {
  readonly path: readonly string[];
  readonly sizeBytes: number;
  /** Undefined while it is not stored, and for an empty file. */
  readonly root: string | undefined;
};

/** The manifest of a folder as a file of this name. Throws an `Error` while a file is not stored, and for a bad name. */
export function folderManifest(name: string, files: readonly ListedFile[]): File {
  const missing = files.filter(({ sizeBytes, root }) => sizeBytes > 0 && !root).length;
  if (missing > 0)
    throw new Error(
      `${missing} of ${files.length} files of this folder are not stored. Upload them, then try again.`,
    );
  const manifest = encodeFolder(
    files.map(({ path, sizeBytes, root }) => ({ names: path, sizeBytes, roots: root ? [root as Hex] : [] })),
  );
  return new File([manifest], name);
}
