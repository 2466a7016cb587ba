import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendLeaf,
  buildProof,
  completingLeaf,
  edgeNodes,
  type LogNode,
  leafHash,
  planConsistency,
  planInclusion,
  rootOfEdge,
  verifyConsistency,
  verifyInclusion,
} from "../../../src/receipts/format/merkle-log.ts";

/** Leaf data and the roots of logs of the first 0 to 8 of them (RFC 6962 test vectors). */
const DATA = [
  ...["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"],
].map(hexToBytes);
const ROOTS = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

const MAX_SIZE = 300;
const size = fc.integer({ min: 1, max: MAX_SIZE });

describe("the log of RFC 6962", () => {
  it("has the roots of the test vectors", () => {
    const log = logOf(DATA);
    expect(ROOTS.map((_, n) => bytesToHex(log.root(n)))).toEqual(ROOTS);
  });

  it("has the inclusion proofs of the test vectors", () => {
    const log = logOf(DATA);
    const proof = (index: number, of: number) => log.inclusion(index, of).map(bytesToHex);
    const leaf = (index: number) => bytesToHex(leafHash(DATA[index] ?? new Uint8Array()));
    expect(proof(0, 1)).toEqual([]);
    expect(proof(5, 7)).toEqual([leaf(4), leaf(6), ROOTS[4]]);
    expect(proof(0, 8)).toEqual([
      "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ]);
  });

  it("has the consistency proofs of the test vectors", () => {
    const log = logOf(DATA);
    expect(log.consistency(1, 1)).toEqual([]);
    expect(log.consistency(6, 8).map(bytesToHex)).toEqual([
      "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      ROOTS[4],
    ]);
    expect(log.consistency(2, 5).map(bytesToHex)).toEqual([
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ]);
  });

  it("proves every leaf in every later head, and nothing else", () => {
    const log = logOf(numbered(MAX_SIZE));
    fc.assert(
      fc.property(size, fc.nat(), fc.nat(), (n, any, other) => {
        const index = any % n;
        const proof = log.inclusion(index, n);
        const claim = { leaf: log.leaf(index), index, size: n, proof, root: log.root(n) };
        expect(verifyInclusion(claim)).toBe(true);
        const wrong = other % n;
        if (wrong !== index) {
          expect(verifyInclusion({ ...claim, index: wrong })).toBe(false);
          expect(verifyInclusion({ ...claim, leaf: log.leaf(wrong) })).toBe(false);
        }
        expect(verifyInclusion({ ...claim, proof: [...proof, log.root(1)] })).toBe(false);
        expect(verifyInclusion({ ...claim, proof: flip(proof, other) })).toBe(proof.length === 0);
        if (proof.length > 0) expect(verifyInclusion({ ...claim, proof: proof.slice(1) })).toBe(false);
        expect(verifyInclusion({ ...claim, root: log.root(n + 1) })).toBe(false);
      }),
    );
  });

  it("proves that any two heads are of one log, and no changed log", () => {
    const data = numbered(MAX_SIZE);
    const log = logOf(data);
    fc.assert(
      fc.property(size, fc.nat(), fc.nat(), (n, any, changed) => {
        const from = any % (n + 1);
        const proof = log.consistency(from, n);
        const claim = { from, fromRoot: log.root(from), size: n, root: log.root(n), proof };
        expect(verifyConsistency(claim)).toBe(true);
        expect(verifyConsistency({ ...claim, proof: [...proof, log.root(1)] })).toBe(false);
        if (from === 0 || from === n) return;
        expect(verifyConsistency({ ...claim, proof: flip(proof, changed) })).toBe(false);
        expect(verifyConsistency({ ...claim, proof: proof.slice(0, -1) })).toBe(false);
        const forged = logOf(data.toSpliced(changed % from, 1, Uint8Array.of(255)));
        expect(verifyConsistency({ ...claim, fromRoot: forged.root(from) })).toBe(false);
        const later = { ...claim, proof: forged.consistency(from, n), root: forged.root(n) };
        expect(verifyConsistency(later)).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it("has proofs that grow with the logarithm, also where sizes exceed 32 bits", () => {
    const big = 2 ** 40 + 12_345;
    expect(planInclusion(2 ** 39 + 7, big).length).toBeLessThanOrEqual(41);
    expect(planConsistency(2 ** 39 + 7, big).length).toBeLessThanOrEqual(42);
    expect(edgeNodes(2 ** 48 - 1)).toHaveLength(48);
    expect(edgeNodes(2 ** 48)).toEqual([{ level: 48, index: 0 }]);
  });

  it("rejects sizes and leaves that a log does not have", () => {
    expect(() => planInclusion(3, 3)).toThrow(RangeError);
    expect(() => planInclusion(-1, 3)).toThrow(RangeError);
    expect(() => planConsistency(4, 3)).toThrow(RangeError);
    expect(() => edgeNodes(1.5)).toThrow(RangeError);
    const root = new Uint8Array(32);
    const claim = { leaf: root, index: 0, size: Number.NaN, proof: [], root };
    expect(verifyInclusion(claim)).toBe(false);
    expect(verifyInclusion({ ...claim, index: 0.5, size: 1 })).toBe(false);
    expect(verifyConsistency({ from: 2, fromRoot: root, size: 1, root, proof: [] })).toBe(false);
  });
});

/** A log in memory that stores what the database stores: per leaf, the subtrees that it completes. */
function logOf(data: readonly Uint8Array[]) {
  const edge: Uint8Array[] = [];
  const stored = data.map((item, at) => appendLeaf(at, edge, leafHash(item)));
  const hashOf = (node: LogNode): Uint8Array => {
    const hash = stored[completingLeaf(node)]?.[node.level];
    if (!hash) throw new Error(`no node ${node.level}/${node.index}`);
    return hash;
  };
  return {
    leaf: (index: number) => hashOf({ level: 0, index }),
    root: (of: number) => rootOfEdge(edgeNodes(Math.min(of, data.length)).map(hashOf)),
    inclusion: (index: number, of: number) => buildProof(planInclusion(index, of), hashOf),
    consistency: (from: number, of: number) => buildProof(planConsistency(from, of), hashOf),
  };
}

/** More leaves than are requested, so that each head has a successor. */
function numbered(count: number): readonly Uint8Array[] {
  return Array.from({ length: count + 1 }, (_, n) => Uint8Array.of(n >> 8, n & 255));
}

/** The proof with one bit of one hash changed. */
function flip(proof: readonly Uint8Array[], any: number): readonly Uint8Array[] {
  const at = any % Math.max(proof.length, 1);
  return proof.map((hash, n) => (n === at ? hash.with(any % 32, (hash[any % 32] ?? 0) ^ 1) : hash));
}
