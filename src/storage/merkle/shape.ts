import { CHUNK_BYTES, MAX_LEAVES } from "../keccak/keccak.ts";

/** Chunks in a whole segment. */
export const SEGMENT_CHUNKS = MAX_LEAVES;
/** A whole segment, bytes. */
export const SEGMENT_BYTES = SEGMENT_CHUNKS * CHUNK_BYTES;
/** Maximum size of a file, bytes: 64 GiB. The tree over its segments takes 16 MiB. */
export const MAX_FILE_BYTES = 2 ** 36;

/** The layout of a file of some size (facts: storage section 3.2). */
export type FileShape = {
  readonly sizeBytes: number;
  /** Chunks that hold its bytes. */
  readonly chunks: number;
  /** Leaves of its tree: its chunks, then empty ones. This is the number of sectors to pay for. */
  readonly paddedChunks: number;
  /** Segments that hold its bytes. */
  readonly segments: number;
  /** Segments over all leaves. */
  readonly paddedSegments: number;
};

/** The layout of a file of `sizeBytes`, 1 to `MAX_FILE_BYTES`. Throws a `RangeError` for any other size. */
export function fileShape(sizeBytes: number): FileShape {
  if (!Number.isInteger(sizeBytes) || sizeBytes < 1 || sizeBytes > MAX_FILE_BYTES)
    throw new RangeError(`a file has 1 to ${MAX_FILE_BYTES} bytes, not ${sizeBytes}`);
  const chunks = Math.ceil(sizeBytes / CHUNK_BYTES);
  const paddedChunks = padded(chunks);
  return {
    sizeBytes,
    chunks,
    paddedChunks,
    segments: Math.ceil(chunks / SEGMENT_CHUNKS),
    paddedSegments: Math.ceil(paddedChunks / SEGMENT_CHUNKS),
  };
}

/** The bytes of an uploaded segment: whole chunks, even when the file fills the last one only partly. */
export function segmentBytes({ chunks }: FileShape, index: number): number {
  return Math.min(SEGMENT_CHUNKS, chunks - index * SEGMENT_CHUNKS) * CHUNK_BYTES;
}

/** The number of leaves under a padded segment. */
export function segmentLeaves({ paddedChunks }: FileShape, index: number): number {
  return Math.min(SEGMENT_CHUNKS, paddedChunks - index * SEGMENT_CHUNKS);
}

/** Adds up to a sixteenth of the next power of two, so that a tree consists of a few whole blocks. */
function padded(chunks: number): number {
  const power = nextPowerOfTwo(chunks);
  const unit = power >= 16 ? power / 16 : 1;
  return Math.ceil(chunks / unit) * unit;
}

/** The smallest power of two that is at least `count`. */
export function nextPowerOfTwo(count: number): number {
  return 2 ** Math.ceil(Math.log2(count));
}
