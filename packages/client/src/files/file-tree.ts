import { keccak_256 } from "@noble/hashes/sha3.js";

const CHUNK = 256;
const SEGMENT_CHUNKS = 1_024;
const SEGMENT = CHUNK * SEGMENT_CHUNKS;
/** The number of segments hashed before the page may render again. */
const SEGMENTS_A_TURN = 4;

type Segment = {
  readonly index: number;
  /** Whole chunks, the last one padded with zeros. */
  readonly data: Uint8Array;
  readonly proof: { readonly lemma: readonly string[]; readonly path: readonly boolean[] };
};

/** A file for the storage network: its root, the blocks of its submission, and its segments with their proofs. */
export type FileTree = {
  readonly root: string;
  readonly nodes: readonly { readonly root: string; readonly height: number }[];
  readonly segments: readonly Segment[];
};

/**
 * Hashes a file into its merkle tree: leaves are chunks of 256 bytes, padded with empty ones by up to a sixteenth of
 * the next power of two, and a hash without a sibling moves up unchanged. `onSegment` receives the progress.
 */
export async function hashFile(
  bytes: Uint8Array,
  onSegment: (done: number, of: number) => void,
): Promise<FileTree> {
  const chunks = Math.ceil(bytes.length / CHUNK);
  const padded = paddedChunks(chunks);
  const segmentCount = Math.ceil(padded / SEGMENT_CHUNKS);
  const leavesOf = (first: number, count: number) =>
    Array.from({ length: count }, (_, n) => keccak_256(chunkAt(bytes, first + n)));
  const roots: Uint8Array[] = [];
  for (let index = 0; index < segmentCount; index++) {
    const count = Math.min(SEGMENT_CHUNKS, padded - index * SEGMENT_CHUNKS);
    roots.push(rootOf(leavesOf(index * SEGMENT_CHUNKS, count)));
    onSegment(index + 1, segmentCount);
    if (index % SEGMENTS_A_TURN === SEGMENTS_A_TURN - 1) await new Promise((resolve) => setTimeout(resolve));
  }
  const levels = levelsOver(roots);
  const root = toHex(levels.at(-1)?.[0] ?? new Uint8Array(32));
  const nodes: { root: string; height: number }[] = [];
  for (let first = 0; first < padded; ) {
    const height = Math.floor(Math.log2(padded - first));
    const count = 2 ** height;
    const hash =
      count >= SEGMENT_CHUNKS ? levels[height - 10]?.[first / count] : rootOf(leavesOf(first, count));
    nodes.push({ root: toHex(hash ?? new Uint8Array(32)), height });
    first += count;
  }
  const segments = Array.from({ length: Math.ceil(chunks / SEGMENT_CHUNKS) }, (_, index): Segment => {
    const length = Math.min(SEGMENT, (chunks - index * SEGMENT_CHUNKS) * CHUNK);
    const data = new Uint8Array(length);
    data.set(bytes.subarray(index * SEGMENT, index * SEGMENT + length));
    return { index, data, proof: proofOf(levels, index, root) };
  });
  return { root, nodes, segments };
}

/** The root of a file that is read in parts, with the memory of one segment. */
export class RootHasher {
  sizeBytes = 0;
  readonly #roots: Uint8Array[] = [];
  readonly #segment = new Uint8Array(SEGMENT);

  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const start = this.sizeBytes % SEGMENT;
      const part = bytes.subarray(at, at + SEGMENT - start);
      this.#segment.set(part, start);
      at += part.length;
      this.sizeBytes += part.length;
      if (this.sizeBytes % SEGMENT === 0) this.#roots.push(this.#rootOf(this.#segment, SEGMENT_CHUNKS));
    }
  }

  /** The root of what was given so far; of an empty file, zeros. */
  root(): string {
    const padded = paddedChunks(Math.ceil(this.sizeBytes / CHUNK));
    const roots = [...this.#roots];
    let rest = this.#segment.subarray(0, this.sizeBytes % SEGMENT);
    for (; roots.length * SEGMENT_CHUNKS < padded; rest = rest.subarray(0, 0))
      roots.push(this.#rootOf(rest, Math.min(SEGMENT_CHUNKS, padded - roots.length * SEGMENT_CHUNKS)));
    return toHex(rootOf(roots));
  }

  #rootOf(bytes: Uint8Array, chunks: number): Uint8Array {
    return rootOf(Array.from({ length: chunks }, (_, n) => keccak_256(chunkAt(bytes, n))));
  }
}

/** The number of leaves of a file: its chunks and empty ones, up to a sixteenth of the next power of two. */
function paddedChunks(chunks: number): number {
  const power = 2 ** Math.ceil(Math.log2(chunks));
  const unit = power >= 16 ? power / 16 : 1;
  return Math.ceil(chunks / unit) * unit;
}

function chunkAt(bytes: Uint8Array, index: number): Uint8Array {
  const part = bytes.subarray(index * CHUNK, (index + 1) * CHUNK);
  if (part.length === CHUNK) return part;
  const whole = new Uint8Array(CHUNK);
  whole.set(part);
  return whole;
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  return levelsOver(leaves).at(-1)?.[0] ?? new Uint8Array(32);
}

function levelsOver(hashes: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  const levels = [hashes];
  for (let top = hashes; top.length > 1; levels.push(top))
    top = Array.from({ length: Math.ceil(top.length / 2) }, (_, n) => join(top[2 * n], top[2 * n + 1]));
  return levels;
}

function join(left: Uint8Array | undefined, right: Uint8Array | undefined): Uint8Array {
  if (!left) throw new RangeError("a tree has a left child");
  if (!right) return left;
  const both = new Uint8Array(64);
  both.set(left);
  both.set(right, 32);
  return keccak_256(both);
}

function proofOf(levels: readonly (readonly Uint8Array[])[], index: number, root: string): Segment["proof"] {
  const lemma = [toHex(levels[0]?.[index] ?? new Uint8Array(32))];
  const path: boolean[] = [];
  for (const [level, hashes] of levels.slice(0, -1).entries()) {
    const position = Math.floor(index / 2 ** level);
    const sibling = hashes[position % 2 === 0 ? position + 1 : position - 1];
    if (!sibling) continue;
    lemma.push(toHex(sibling));
    path.push(position % 2 === 0);
  }
  return { lemma: levels.length === 1 ? lemma : [...lemma, root], path };
}

function toHex(bytes: Uint8Array): string {
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
