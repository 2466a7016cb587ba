import type { ChainFile, FilesService } from "./files.service.ts";
import { SEGMENT_CHUNKS } from "./merkle/shape.ts";
import type { FileId, Segment, StorageNode } from "./node/storage-node.ts";

const CHUNK_BYTES = 256;

/** Parts of files as the network's clients ask for them: by chunks of 256 bytes, or by segments. All are verified. */
export class SegmentsService {
  readonly #needs: { readonly files: FilesService; readonly node: StorageNode };

  constructor(needs: { readonly files: FilesService; readonly node: StorageNode }) {
    this.#needs = needs;
  }

  /**
   * Whole chunks from `start` up to and without `end`, at most a segment of them; the last one of a file ends with
   * zeros. Undefined for a file that is not known or not whole, and where it has no such chunks.
   */
  async chunks(id: FileId, start: number, end: number): Promise<Buffer | undefined> {
    const file = await this.#whole(id);
    if (!file || end > Math.ceil(file.sizeBytes / CHUNK_BYTES)) return undefined;
    const first = Math.floor(start / SEGMENT_CHUNKS);
    const last = Math.floor((end - 1) / SEGMENT_CHUNKS);
    const parts: Buffer[] = [];
    for (let index = first; index <= last; index++) {
      const segment = await this.#needs.node.read(file, index);
      const base = index * SEGMENT_CHUNKS;
      const from = Math.max(start - base, 0) * CHUNK_BYTES;
      parts.push(segment.subarray(from, Math.min(end - base, SEGMENT_CHUNKS) * CHUNK_BYTES));
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /** A segment with its proof; undefined for a file that is not known or not whole, and beyond its end. */
  async proven(id: FileId, index: number): Promise<Segment | undefined> {
    const file = await this.#whole(id);
    return file && index < file.segments ? this.#needs.node.readWithProof(file, index) : undefined;
  }

  async #whole(id: FileId): Promise<ChainFile | undefined> {
    const [file] = await this.#needs.files.find([id]);
    return file?.finalized ? file : undefined;
  }
}
