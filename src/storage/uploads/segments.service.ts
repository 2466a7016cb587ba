import { AppError } from "../../kernel/errors.ts";
import type { ChainFile, FilesService } from "../files.service.ts";
import { SEGMENT_CHUNKS } from "../merkle/shape.ts";
import type { FileId, Segment, StorageNode } from "../node/storage-node.ts";

const CHUNK_BYTES = 256;

/** Parts of files as the network's clients request them: by chunks of 256 bytes, or by segments. All are verified. */
export class SegmentsService {
  readonly #dependencies: { readonly files: FilesService; readonly node: StorageNode };

  constructor(dependencies: { readonly files: FilesService; readonly node: StorageNode }) {
    this.#dependencies = dependencies;
  }

  /**
   * Whole chunks from `start` to `end`, exclusive, at most one segment's worth; the last chunk of a file is padded with
   * zeros. Undefined for an unknown file, and while a segment of the range is missing. Throws
   * `range_not_satisfiable` for chunks beyond the file.
   */
  async chunks(id: FileId, start: number, end: number): Promise<Buffer | undefined> {
    const file = await this.#find(id);
    if (!file) return undefined;
    if (end > Math.ceil(file.sizeBytes / CHUNK_BYTES))
      throw new AppError(
        "range_not_satisfiable",
        `end entry index exceeds tx size: end=${end} tx size=${file.sizeBytes}`,
        { param: "end_index" },
      );
    const first = Math.floor(start / SEGMENT_CHUNKS);
    const last = Math.floor((end - 1) / SEGMENT_CHUNKS);
    const parts: Buffer[] = [];
    for (let index = first; index <= last; index++) {
      const segment = await unlessMissing(this.#dependencies.node.read(file, index));
      if (!segment) return undefined;
      const base = index * SEGMENT_CHUNKS;
      const from = Math.max(start - base, 0) * CHUNK_BYTES;
      parts.push(segment.subarray(from, Math.min(end - base, SEGMENT_CHUNKS) * CHUNK_BYTES));
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /** A segment with its proof; undefined if file or segment is missing. Throws `segment_refused` past the end. */
  async proven(id: FileId, index: number): Promise<Segment | undefined> {
    const file = await this.#find(id);
    if (!file) return undefined;
    if (index >= file.segments)
      throw new AppError("segment_refused", "index out of bound", { param: "index" });
    return unlessMissing(this.#dependencies.node.readWithProof(file, index));
  }

  async #find(id: FileId): Promise<ChainFile | undefined> {
    const [file] = await this.#dependencies.files.find([id]);
    return file;
  }
}

/** Undefined for a missing segment of a known file. */
async function unlessMissing<T>(segment: Promise<T>): Promise<T | undefined> {
  return segment.catch((error: unknown) => {
    if (error instanceof AppError && error.code === "file_not_finalized") return undefined;
    throw error;
  });
}
