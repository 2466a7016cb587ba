import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { equalBytes } from "../../kernel/bytes.ts";
import { type Hex, isHash32 } from "../../kernel/text/hex.ts";
import { EMPTY_CHUNK_HASH, type Keccak } from "../keccak/keccak.ts";
import { type FileShape, nextPowerOfTwo, SEGMENT_CHUNKS } from "./shape.ts";

/**
 * The merkle path from a segment to its file's root (facts: storage section 3.4). `lemma` is the segment's padded root,
 * its siblings from the bottom up, and the file's root; `path` is true for each sibling that lies to the right. The
 * proof of a file of one segment is its root alone.
 */
export type SegmentProof = { readonly lemma: readonly Hex[]; readonly path: readonly boolean[] };

/** The fault of a proof, worded as by the network's own nodes. */
export type ProofFault =
  | "invalid proof"
  | "validation failed"
  | "invalid proof node value in the padding range";

/**
 * The fault of the proof that segment `index` of this file has the padded root `segmentRoot`; undefined for a valid
 * proof. Siblings that lie in the padding must have the root of empty chunks, so that no data hides in the padding.
 */
export function proofFault(
  keccak: Keccak,
  file: { readonly root: Hex; readonly shape: FileShape },
  index: number,
  segmentRoot: Uint8Array,
  { lemma, path }: SegmentProof,
): ProofFault | undefined {
  const steps = stepsTo(file.shape, index);
  const isOne = steps.length === 0;
  if (path.length !== steps.length || lemma.length !== (isOne ? 1 : steps.length + 2)) return "invalid proof";
  if (!lemma.every(isHash32)) return "invalid proof";
  if (!steps.every(({ isLeft }, level) => path[level] === isLeft)) return "invalid proof";
  if (!equalBytes(toHash(lemma[0]), segmentRoot)) return "validation failed";
  let hash = segmentRoot;
  for (const [level, step] of steps.entries()) {
    const sibling = toHash(lemma[level + 1]);
    if (step.isLeft && step.siblingFirst >= file.shape.segments) {
      if (!equalBytes(sibling, emptyRoot(keccak, step.siblingSegments * SEGMENT_CHUNKS)))
        return "invalid proof node value in the padding range";
    }
    hash = step.isLeft ? keccak.pair(hash, sibling) : keccak.pair(sibling, hash);
  }
  if (!equalBytes(hash, toHash(lemma.at(-1))) || !equalBytes(hash, toHash(file.root)))
    return "validation failed";
  return undefined;
}

/** The root over a power of two of empty chunks. */
function emptyRoot(keccak: Keccak, chunks: number): Uint8Array {
  let root: Uint8Array = EMPTY_CHUNK_HASH;
  for (let width = 1; width < chunks; width *= 2) root = keccak.pair(root, root);
  return root;
}

type Step = { readonly isLeft: boolean; readonly siblingFirst: number; readonly siblingSegments: number };

/** The steps from a segment up to the root, bottom first. Each part is split at the largest power of two below it. */
function stepsTo({ paddedSegments }: FileShape, index: number): readonly Step[] {
  const steps: Step[] = [];
  let [first, width] = [0, paddedSegments];
  while (width > 1) {
    const left = nextPowerOfTwo(width) / 2;
    const isLeft = index < first + left;
    const siblingSegments = isLeft ? width - left : left;
    steps.unshift({ isLeft, siblingFirst: isLeft ? first + left : first, siblingSegments });
    if (!isLeft) first += left;
    width = isLeft ? left : width - left;
  }
  return steps;
}

/** The 32 bytes of a hash. */
export function toHash(hex: string | undefined): Uint8Array {
  return hexToBytes((hex ?? "").slice(2));
}

/** A hash as `0x` and lower-case hexadecimal digits. */
export function toHex(hash: Uint8Array): Hex {
  return `0x${bytesToHex(hash)}`;
}
