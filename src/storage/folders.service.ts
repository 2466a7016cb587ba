import QuickLru from "quick-lru";
import { AppError } from "../kernel/errors.ts";
import type { Hex } from "../kernel/hex.ts";
import type { FilesService } from "./files.service.ts";
import { type Directory, decodeFolder, FOLDER_LIMITS, type FolderEntry, findEntry } from "./folder.ts";
import type { FileReader } from "./node/file-reader.ts";
import type { FileId } from "./node/storage-node.ts";

type Needs = { readonly files: FilesService; readonly reader: FileReader };

const REMEMBERED = 64;
/** Larger manifests are read anew each time. */
const REMEMBERED_BYTES = 262_144;

/** Folders: stored files that are manifests of others. What they hold is looked up in the manifest alone. */
export class FoldersService {
  readonly #needs: Needs;
  readonly #known = new QuickLru<Hex, Directory>({ maxSize: REMEMBERED });

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * What a folder holds at a path, given by its names. Throws `file_path_not_found`, `folder_malformed` for a file that
   * is no folder, and what `FilesService.readable` throws.
   */
  async find(id: FileId, names: readonly string[]): Promise<FolderEntry> {
    return findEntry(await this.#open(id), names);
  }

  /** A directory of a folder. Throws what `find` throws, and `file_path_not_found` for what is none. */
  async directory(id: FileId, names: readonly string[]): Promise<Directory> {
    const entry = await this.find(id, names);
    if (entry.kind === "directory") return entry;
    throw new AppError("file_path_not_found", `'${entry.name}' is not a directory`);
  }

  async #open(id: FileId): Promise<Directory> {
    const { files, reader } = this.#needs;
    const file = await files.readable(id);
    const known = this.#known.get(file.root);
    if (known) return known;
    if (file.sizeBytes > FOLDER_LIMITS.bytes)
      throw new AppError("folder_malformed", `a manifest has at most ${FOLDER_LIMITS.bytes} bytes`);
    const folder = decodeFolder(await reader.read(file));
    if (file.sizeBytes <= REMEMBERED_BYTES) this.#known.set(file.root, folder);
    return folder;
  }
}
