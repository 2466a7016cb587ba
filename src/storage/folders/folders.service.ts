import { ByteLru } from "../../kernel/byte-lru.ts";
import { AppError } from "../../kernel/errors.ts";
import type { FilesService } from "../files.service.ts";
import type { FileReader } from "../node/file-reader.ts";
import type { FileId } from "../node/storage-node.ts";
import { type Directory, decodeFolder, FOLDER_LIMITS, type FolderEntry, findEntry } from "./folder.ts";

type Dependencies = { readonly files: FilesService; readonly reader: FileReader };

/** Size of the cache of decoded manifests, in bytes of their files: four of the largest, or some hundred usual ones. */
const CACHE_BYTES = 4 * FOLDER_LIMITS.bytes;

/** Folders: stored files that are manifests of other files. Entries are looked up in the manifest only. */
export class FoldersService {
  readonly #dependencies: Dependencies;
  readonly #known = new ByteLru<Promise<Directory>>({ maxBytes: CACHE_BYTES, maxShare: 1 });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The entry of a folder at a path, given by its names. Throws `file_path_not_found`, `folder_malformed` for a file
   * that is not a folder, and what `FilesService.readable` throws.
   */
  async find(id: FileId, names: readonly string[]): Promise<FolderEntry> {
    return findEntry(await this.#open(id), names);
  }

  /** A directory of a folder. Throws what `find` throws, and `file_path_not_found` for other entries. */
  async directory(id: FileId, names: readonly string[]): Promise<Directory> {
    const entry = await this.find(id, names);
    if (entry.kind === "directory") return entry;
    throw new AppError("file_path_not_found", `'${entry.name}' is not a directory`);
  }

  async #open(id: FileId): Promise<Directory> {
    const { files, reader } = this.#dependencies;
    const file = await files.readable(id);
    // Submissions of one root may state different sizes, with zeros after the manifest.
    const key = `${file.root}:${file.sizeBytes}`;
    const known = this.#known.get(key);
    if (known) return known;
    if (file.sizeBytes > FOLDER_LIMITS.bytes)
      throw new AppError("folder_malformed", `a manifest has at most ${FOLDER_LIMITS.bytes} bytes`);
    // Decoding a large manifest blocks the event loop for tens of milliseconds: callers share one result, even when it
    // is malformed.
    const reading = reader.read(file).then(decodeFolder);
    this.#known.set(key, reading, file.sizeBytes);
    reading.catch((error: unknown) => {
      const isMalformed = error instanceof AppError && error.code === "folder_malformed";
      if (!isMalformed && this.#known.get(key) === reading) this.#known.delete(key);
    });
    return reading;
  }
}
