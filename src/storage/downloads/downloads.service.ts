import { createHash } from "node:crypto";
import QuickLru from "quick-lru";
import { AppError } from "../../kernel/errors.ts";
import type { ChainFile, FilesService } from "../files.service.ts";
import type { FolderEntry } from "../folders/folder.ts";
import type { SegmentProof } from "../merkle/proof.ts";
import type { FileReader } from "../node/file-reader.ts";
import type { FileId, StorageNode } from "../node/storage-node.ts";
import { SNIFFED_BYTES, sniffType } from "./content-type.ts";
import { DownloadStream, ProvenStream } from "./download-stream.ts";

/** Bytes that can be read: one stored file, or several concatenated. */
export type Download = {
  /** Equal for equal bytes: the root, or a hash of the roots of several files. */
  readonly tag: string;
  readonly name: string | undefined;
  readonly sizeBytes: number;
  readonly parts: readonly ChainFile[];
};

/** The bytes from `start` to `end`, exclusive. */
export type Bytes = { readonly start: number; readonly end: number };

type Dependencies = { readonly files: FilesService; readonly node: StorageNode; readonly reader: FileReader };

const REMEMBERED_TYPES = 10_000;
const NO_BYTES_TYPE = "application/octet-stream";

/** Reads the bytes of files, verified against their roots before they are returned. */
export class DownloadsService {
  readonly #dependencies: Dependencies;
  readonly #types = new QuickLru<string, string>({ maxSize: REMEMBERED_TYPES });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * A stored file. With `isRange`, the file may lack segments, for example damaged ones. Throws what
   * `FilesService.readable` throws.
   */
  async ofFile(id: FileId, isRange = false): Promise<Download> {
    const { files } = this.#dependencies;
    const file = await (isRange ? files.readableInPart(id) : files.readable(id));
    return { tag: file.root, name: undefined, sizeBytes: file.sizeBytes, parts: [file] };
  }

  /**
   * A file of a folder. Throws what `FilesService.readable` throws for its parts, and `folder_malformed` when their
   * total size differs from the size in the folder.
   */
  async ofEntry(entry: Extract<FolderEntry, { kind: "file" }>): Promise<Download> {
    const { files } = this.#dependencies;
    const parts = await files.allReadable(entry.roots.map((root) => ({ root })));
    const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
    if (sizeBytes !== entry.sizeBytes)
      throw new AppError(
        "folder_malformed",
        `the file '${entry.name}' has ${sizeBytes} bytes, not ${entry.sizeBytes}`,
      );
    const [only] = entry.roots;
    const tag = entry.roots.length === 1 && only ? only : hashOf(entry.roots);
    return { tag, name: entry.name, sizeBytes, parts };
  }

  /** The media type of a download, by its first bytes. */
  async mediaType({ tag, sizeBytes, parts: [first] }: Download): Promise<string> {
    // Files that differ only in zeros at their end may share a root, and their first bytes may have these zeros.
    const key = `${tag}:${sizeBytes}`;
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    if (!first) return NO_BYTES_TYPE;
    const end = Math.min(SNIFFED_BYTES, first.sizeBytes);
    // A file that is not finalized may lack its first segment, so its type is unknown.
    if (!first.finalized) return NO_BYTES_TYPE;
    const type = sniffType(await this.#dependencies.reader.read(first, { start: 0, end }));
    this.#types.set(key, type);
    return type;
  }

  /** The bytes of a range, in pieces. Throws `storage_unavailable`, even midway; `return()` ends it at once. */
  stream({ parts }: Download, range: Bytes): DownloadStream {
    const { reader } = this.#dependencies;
    const pieces = cut(parts, range);
    const segments = pieces.length === 1 ? "present" : "all";
    return new DownloadStream(pieces, (file, inside) => reader.stream(file, inside, segments));
  }

  /** The proof of one segment of a file. Throws `invalid_parameter` for an index beyond the file. */
  async proofOf(id: FileId, index: number): Promise<SegmentProof> {
    const file = await this.#dependencies.files.readable(id);
    if (index >= 0 && index < file.segments)
      return (await this.#dependencies.node.readWithProof(file, index)).proof;
    throw new AppError("invalid_parameter", `The file has ${file.segments} segments.`, { param: "segment" });
  }

  /** The whole segments that overlap a range, each with its proof against its file's root. */
  proven({ parts }: Download, range: Bytes): ProvenStream {
    return new ProvenStream(this.#dependencies.node, cut(parts, range));
  }
}

type Piece = { readonly file: ChainFile; readonly at: number; readonly inside: Bytes };

/** The pieces of parts that make up a range; `at` is the offset of the part in the whole. */
function cut(parts: readonly ChainFile[], { start, end }: Bytes): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const file of parts) {
    const inside = { start: Math.max(0, start - at), end: Math.min(file.sizeBytes, end - at) };
    if (inside.start < inside.end) pieces.push({ file, at, inside });
    at += file.sizeBytes;
  }
  return pieces;
}

function hashOf(roots: readonly string[]): string {
  return createHash("sha256").update(roots.join()).digest("hex");
}
