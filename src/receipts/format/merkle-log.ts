import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";

/**
 * A complete subtree of the log: the hash over the leaves from `index * 2^level` to `(index + 1) * 2^level`. It never
 * changes once it exists, so these are the hashes that a log stores.
 */
export type LogNode = { readonly level: number; readonly index: number };

/** Looks up the stored hash of a complete subtree. */
export type NodeHashes = (node: LogNode) => Uint8Array;

/** For each hash of a proof, the complete subtrees that it is computed from, left to right. */
export type ProofPlan = readonly (readonly LogNode[])[];

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

/** The root of a log without leaves. */
export const EMPTY_ROOT: Uint8Array = sha256(new Uint8Array());

/** The hash of a leaf with this data (RFC 6962, section 2.1). */
export function leafHash(data: Uint8Array): Uint8Array {
  return sha256(concatBytes(LEAF_PREFIX, data));
}

/** The hash of an interior node. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(concatBytes(NODE_PREFIX, left, right));
}

/** The complete subtrees that a log of this size consists of, left to right: its right edge. */
export function edgeNodes(size: number): readonly LogNode[] {
  checkSize(size);
  return size === 0 ? [] : cover(0, size);
}

/** The root of a log, from the hashes of its `edgeNodes`. */
export function rootOfEdge(edge: readonly Uint8Array[]): Uint8Array {
  return edge.length === 0 ? EMPTY_ROOT : fold(edge);
}

/**
 * Appends a leaf to a log of `size` leaves, whose edge is changed in place. Returns the hashes of the subtrees that the
 * leaf completes: its own at level 0, then one for each level above that ends with it. `hashOf` is `nodeHash`, or a
 * faster one.
 */
export function appendLeaf(
  size: number,
  edge: Uint8Array[],
  hash: Uint8Array,
  hashOf = nodeHash,
): readonly Uint8Array[] {
  const completed = [hash];
  let last = hash;
  for (let index = size; index % 2 === 1; index = half(index)) {
    const left = edge.pop();
    if (!left) throw new RangeError(`a log of ${size} leaves has a longer edge`);
    last = hashOf(left, last);
    completed.push(last);
  }
  edge.push(last);
  return completed;
}

/** The leaf that completes a subtree, and so stores its hash. */
export function completingLeaf({ level, index }: LogNode): number {
  return (index + 1) * 2 ** level - 1;
}

/** What proves that the log of `size` leaves has the leaf at `index`. Throws a `RangeError` for a leaf that it lacks. */
export function planInclusion(index: number, size: number): ProofPlan {
  checkSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size)
    throw new RangeError(`a log of ${size} leaves has no leaf ${index}`);
  return inclusion(index, 0, size);
}

/** What proves that a log of `size` leaves begins with that of `from`. Throws a `RangeError` if it is shorter. */
export function planConsistency(from: number, size: number): ProofPlan {
  checkSize(size);
  checkSize(from);
  if (from > size) throw new RangeError(`a log of ${size} leaves has no earlier size ${from}`);
  return from === 0 || from === size ? [] : consistency(from, { start: 0, end: size, isWhole: true });
}

/** Builds a proof from stored hashes. */
export function buildProof(plan: ProofPlan, hashOf: NodeHashes): readonly Uint8Array[] {
  return plan.map((nodes) => fold(nodes.map(hashOf)));
}

/** What an inclusion proof says. */
export type Inclusion = {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly proof: readonly Uint8Array[];
  readonly root: Uint8Array;
};

/** Whether the log with this root has the leaf, given as its hash, at this index (RFC 9162, section 2.1.3.2). */
export function verifyInclusion({ leaf, index, size, proof, root }: Inclusion): boolean {
  if (!isSize(index) || !isSize(size) || index >= size) return false;
  let [node, last, hash] = [index, size - 1, leaf];
  for (const sibling of proof) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else hash = nodeHash(hash, sibling);
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && isSame(hash, root);
}

/** What a consistency proof says: sizes and roots of two logs, of which the second continues the first. */
export type Consistency = {
  readonly from: number;
  readonly fromRoot: Uint8Array;
  readonly size: number;
  readonly root: Uint8Array;
  readonly proof: readonly Uint8Array[];
};

/** Whether the second log begins with the leaves of the first (RFC 9162, section 2.1.4.2). */
export function verifyConsistency({ from, fromRoot, size, root, proof }: Consistency): boolean {
  if (!isSize(from) || !isSize(size) || from > size) return false;
  if (from === size) return proof.length === 0 && isSame(fromRoot, root);
  if (from === 0) return proof.length === 0 && isSame(fromRoot, EMPTY_ROOT);
  const path = isPowerOfTwo(from) ? [fromRoot, ...proof] : proof;
  const [first, ...rest] = path;
  if (!first) return false;
  let [node, last, oldHash, newHash] = [from - 1, size - 1, first, first];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      [oldHash, newHash] = [nodeHash(sibling, oldHash), nodeHash(sibling, newHash)];
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else newHash = nodeHash(newHash, sibling);
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && isSame(oldHash, fromRoot) && isSame(newHash, root);
}

/** PATH(m, D[n]) of RFC 6962, section 2.1.1, for the leaves from `start` to `end`. */
function inclusion(index: number, start: number, end: number): ProofPlan {
  if (end - start === 1) return [];
  const middle = start + split(end - start);
  return index < middle
    ? [...inclusion(index, start, middle), cover(middle, end)]
    : [...inclusion(index, middle, end), cover(start, middle)];
}

/** Part of a log; `isWhole` if the earlier log began where it does, so that its root need not be proved. */
type Range = { readonly start: number; readonly end: number; readonly isWhole: boolean };

/** SUBPROOF(m, D[n], b) of RFC 6962, section 2.1.2: `from` is where the earlier log ends. */
function consistency(from: number, { start, end, isWhole }: Range): ProofPlan {
  if (from === end) return isWhole ? [] : [cover(start, end)];
  const middle = start + split(end - start);
  return from <= middle
    ? [...consistency(from, { start, end: middle, isWhole }), cover(middle, end)]
    : [...consistency(from, { start: middle, end, isWhole: false }), cover(start, middle)];
}

/** The complete subtrees over the leaves from `start` to `end`, largest first. */
function cover(start: number, end: number): readonly LogNode[] {
  const nodes: LogNode[] = [];
  for (let at = start; at < end; ) {
    const level = Math.floor(Math.log2(end - at));
    // log2 is rounded: a size just below a power of two may be taken for it.
    const exact = 2 ** level > end - at ? level - 1 : level;
    nodes.push({ level: exact, index: at / 2 ** exact });
    at += 2 ** exact;
  }
  return nodes;
}

/** The hash over neighbouring subtrees, of which each is larger than those to its right. */
function fold(hashes: readonly Uint8Array[]): Uint8Array {
  return hashes.reduceRight((right, left) => nodeHash(left, right));
}

/** The largest power of two below `n`. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

function half(n: number): number {
  return Math.floor(n / 2);
}

function isPowerOfTwo(n: number): boolean {
  return n === split(n + 1);
}

function isSize(n: number): boolean {
  return Number.isSafeInteger(n) && n >= 0;
}

function checkSize(n: number): void {
  if (!isSize(n)) throw new RangeError(`${n} is not the size of a log`);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
