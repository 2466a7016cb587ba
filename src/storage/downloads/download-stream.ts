import { closeSource, DONE, ReleasingIterator } from "../../kernel/async/releasing-iterator.ts";
import type { SegmentProof } from "../merkle/proof.ts";
import { SEGMENT_BYTES } from "../merkle/shape.ts";
import type { NodeFile, StorageNode } from "../node/storage-node.ts";

type Piece = {
  readonly file: NodeFile;
  /** The offset of the file in the whole download. */
  readonly at: number;
  readonly inside: { readonly start: number; readonly end: number };
};

/** Opens the bytes of a file from `start` to `end`, exclusive. */
type Open = (file: NodeFile, inside: Piece["inside"]) => AsyncIterableIterator<Buffer>;

/** The bytes of pieces of files, one piece after the other, with segments read ahead unless the client is slow. */
export class DownloadStream extends ReleasingIterator<Buffer> {
  readonly #pieces: readonly Piece[];
  readonly #open: Open;
  #piece = 0;
  /** The offset in the file of the next byte to return. */
  #next: number;
  #current: AsyncIterableIterator<Buffer> | undefined;
  #isSlow = false;

  constructor(pieces: readonly Piece[], open: Open) {
    super();
    this.#pieces = pieces;
    this.#open = open;
    this.#next = pieces[0]?.inside.start ?? 0;
  }

  async next(): Promise<IteratorResult<Buffer>> {
    for (;;) {
      const piece = this.#pieces[this.#piece];
      if (!piece || this.isEnded) return DONE;
      const start = this.#next;
      const { end } = piece.inside;
      if (start === end) {
        this.#current = undefined;
        this.#next = this.#pieces[++this.#piece]?.inside.start ?? 0;
        continue;
      }
      this.#current ??= this.#open(piece.file, { start, end: this.#isSlow ? endOfSegment(start, end) : end });
      const next = await this.#current.next();
      if (this.isEnded) return DONE;
      if (next.done) throw new Error("a stored file ended before its size");
      this.#next += next.value.length;
      if (this.#isSlow) this.#current = undefined;
      return next;
    }
  }

  /**
   * Drops everything that was read, and returns the last `unsentBytes` of the latest buffer again. From now on one
   * segment is read at a time, until `readAhead`.
   */
  park(unsentBytes: number): void {
    closeSource(this.#current);
    this.#current = undefined;
    this.#next -= unsentBytes;
    this.#isSlow = true;
  }

  /** Reads ahead again. */
  readAhead(): void {
    this.#isSlow = false;
  }

  protected release(): void {
    closeSource(this.#current);
  }
}

function endOfSegment(start: number, end: number): number {
  return Math.min(end, (Math.floor(start / SEGMENT_BYTES) + 1) * SEGMENT_BYTES);
}

/** A segment of a download, without the padding after the end of its file, and its proof. */
export type ProvenSegment = {
  readonly root: string;
  readonly index: number;
  /** The offset of its first byte in the whole download. */
  readonly start: number;
  readonly data: Buffer;
  readonly proof: SegmentProof;
};

/** The segments that overlap the pieces of files, read one by one. `return()` aborts a pending read. */
export class ProvenStream extends ReleasingIterator<ProvenSegment> {
  readonly #node: StorageNode;
  readonly #pieces: readonly Piece[];
  readonly #abort = new AbortController();
  #piece = 0;
  #index: number | undefined;

  constructor(node: StorageNode, pieces: readonly Piece[]) {
    super();
    this.#node = node;
    this.#pieces = pieces;
  }

  async next(): Promise<IteratorResult<ProvenSegment>> {
    const piece = this.#pieces[this.#piece];
    if (!piece || this.isEnded) return DONE;
    const { file, at, inside } = piece;
    const index = this.#index ?? Math.floor(inside.start / SEGMENT_BYTES);
    this.#index = index + 1;
    if (this.#index * SEGMENT_BYTES >= inside.end) {
      this.#piece++;
      this.#index = undefined;
    }
    const { data, proof } = await this.#node.readWithProof(file, index, this.#abort.signal);
    const start = index * SEGMENT_BYTES;
    const value = {
      root: file.root,
      index,
      start: at + start,
      data: data.subarray(0, Math.min(data.length, file.sizeBytes - start)),
      proof,
    };
    return { done: false, value };
  }

  protected release(): void {
    this.#abort.abort();
  }
}
