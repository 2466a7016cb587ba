import { closeSource, DONE, ReleasingIterator } from "../../kernel/async/releasing-iterator.ts";
import type { SegmentProof } from "../merkle/proof.ts";
import type { NodeFile, StorageNode } from "../node/storage-node.ts";

const SEGMENT_BYTES = 262_144;

/** Concatenates several streams; each is opened when the previous one ends. */
export class JoinedStream extends ReleasingIterator<Buffer> {
  readonly #waiting: (() => AsyncIterableIterator<Buffer>)[];
  #current: AsyncIterableIterator<Buffer> | undefined;

  constructor(streams: readonly (() => AsyncIterableIterator<Buffer>)[]) {
    super();
    this.#waiting = [...streams];
  }

  async next(): Promise<IteratorResult<Buffer>> {
    for (;;) {
      this.#current ??= this.#waiting.shift()?.();
      if (!this.#current) return DONE;
      const next = await this.#current.next();
      if (!next.done) return next;
      this.#current = undefined;
    }
  }

  protected release(): void {
    this.#waiting.length = 0;
    closeSource(this.#current);
  }
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

type Piece = {
  readonly file: NodeFile;
  /** The offset of the file in the whole download. */
  readonly at: number;
  readonly inside: { readonly start: number; readonly end: number };
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
