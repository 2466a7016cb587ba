import { createHash } from "node:crypto";
import QuickLru from "quick-lru";
import { AppError } from "../kernel/errors.ts";
import { SNIFFED_BYTES, sniffType } from "./content-type.ts";
import { JoinedStream, ProvenStream } from "./download-stream.ts";
import type { ChainFile, FilesService } from "./files.service.ts";
import type { FolderEntry } from "./folder.ts";
import type { SegmentProof } from "./merkle/proof.ts";
import type { FileReader } from "./node/file-reader.ts";
import type { FileId, StorageNode } from "./node/storage-node.ts";

/** Bytes that can be read: one stored file, or several, one behind the other. */
export type Download = {
  /** The same for the same bytes: the root, of several files a hash of their roots. */
  readonly tag: string;
  readonly name: string | undefined;
  readonly sizeBytes: number;
  readonly parts: readonly ChainFile[];
};

/** Bytes from `start` to before `end`. */
export type Bytes = { readonly start: number; readonly end: number };

type Dependencies = { readonly files: FilesService; readonly node: StorageNode; readonly reader: FileReader };

const REMEMBERED_TYPES = 10_000;
const NO_BYTES_TYPE = "application/octet-stream";

/** Gives out the bytes of files, each verified against its root before it is given. */
export class DownloadsService {
  readonly #dependencies: Dependencies;
  readonly #types = new QuickLru<string, string>({ maxSize: REMEMBERED_TYPES });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * A stored file, or, when a range of it is asked for, also one that lacks segments, such as damaged ones. Throws what
   * `FilesService.readable` throws.
   */
  async ofFile(id: FileId, isRange = false): Promise<Download> {
    const { files } = this.#dependencies;
    const file = await (isRange ? files.readableInPart(id) : files.readable(id));
    return { tag: file.root, name: undefined, sizeBytes: file.sizeBytes, parts: [file] };
  }

  /**
   * A file of a folder. Throws what `FilesService.readable` throws for what it is made of, and `folder_malformed` when
   * that has another size than the folder says.
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

  /** Its media type, by its first bytes. */
  async mediaType({ tag, parts: [first] }: Download): Promise<string> {
    const known = this.#types.get(tag);
    if (known !== undefined) return known;
    if (!first) return NO_BYTES_TYPE;
    const end = Math.min(SNIFFED_BYTES, first.sizeBytes);
    // Of a file that lacks its first segment the type is not known.
    if (!first.finalized) return NO_BYTES_TYPE;
    const type = sniffType(await this.#dependencies.reader.read(first, { start: 0, end }));
    this.#types.set(tag, type);
    return type;
  }

  /** The bytes of a range, in pieces. Throws `storage_unavailable`, at first or midway; `return()` ends it at once. */
  stream({ parts }: Download, range: Bytes): AsyncIterableIterator<Buffer> {
    const { reader } = this.#dependencies;
    const pieces = cut(parts, range);
    const [only] = pieces;
    if (pieces.length === 1 && only) return reader.stream(only.file, only.inside, "present");
    return new JoinedStream(
      pieces.map(
        ({ file, inside }) =>
          () =>
            reader.stream(file, inside),
      ),
    );
  }

  /** What proves one segment of a file. Throws `invalid_parameter` for one that the file has not. */
  async proofOf(id: FileId, index: number): Promise<SegmentProof> {
    const file = await this.#dependencies.files.readable(id);
    if (index >= 0 && index < file.segments)
      return (await this.#dependencies.node.readWithProof(file, index)).proof;
    throw new AppError("invalid_parameter", `The file has ${file.segments} segments.`, { param: "segment" });
  }

  /** The whole segments that a range touches, each with the proof that leads to its file's root. */
  proven({ parts }: Download, range: Bytes): ProvenStream {
    return new ProvenStream(this.#dependencies.node, cut(parts, range));
  }
}

type Piece = { readonly file: ChainFile; readonly at: number; readonly inside: Bytes };

/** Which bytes of which parts make up a range; `at` is where the part begins in the whole. */
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
