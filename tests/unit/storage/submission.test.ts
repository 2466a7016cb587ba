import { readFileSync } from "node:fs";
import { encodeAbiParameters, encodeEventTopics, getAbiItem, keccak256 } from "viem";
import { describe, expect, test } from "vitest";
import { flowAbi } from "../../../src/chain/abi/flow.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import {
  decodeSubmit,
  fileRoot,
  SUBMIT_TOPIC,
  submissionSectors,
} from "../../../src/storage/submissions/submission.ts";
import { submissionIdentity } from "../../support/storage/submission-identity.ts";

type Vector = {
  readonly size: number;
  readonly root: Hex;
  readonly submissionNodes: readonly { readonly root: Hex; readonly height: string }[];
  readonly sectorsCharged: number;
};

const file = readFileSync(new URL("../../fixtures/merkle-vectors.json", import.meta.url), "utf8");
const vectors = (JSON.parse(file) as { vectors: readonly Vector[] }).vectors.map((vector) => ({
  ...vector,
  nodes: vector.submissionNodes.map(({ root, height }) => ({ root, height: Number(height) })),
}));

describe("a submission", () => {
  test.each(vectors)(
    "of $size bytes has the root and the sectors of the public SDK",
    ({ root, nodes, sectorsCharged }) => {
      expect(fileRoot(nodes)).toBe(root);
      expect(submissionSectors(nodes)).toBe(BigInt(sectorsCharged));
    },
  );

  test("of one node is identified by the hash of its root, not by its root", () => {
    const [single] = vectors.filter(({ nodes }) => nodes.length === 1);
    expect(single && submissionIdentity(single.nodes)).toBe(single && keccak256(single.root));
  });

  test("without nodes has no root", () => {
    expect(() => fileRoot([])).toThrow(RangeError);
  });

  test("is decoded from its event, where 'length' means sectors outside and bytes inside", () => {
    const vector = vectors.find(({ size }) => size === 700_000);
    if (!vector) throw new Error("the vector is missing");
    const sender = "0x1111111111111111111111111111111111111111";
    const nodes = vector.nodes.map(({ root, height }) => ({ root, height: BigInt(height) }));
    const identity = submissionIdentity(vector.nodes);
    const event = getAbiItem({ abi: flowAbi, name: "Submit" });
    const topics = encodeEventTopics({ abi: [event], args: { sender, identity } });
    const data = encodeAbiParameters(
      event.inputs.filter((input) => !("indexed" in input)),
      [7n, 2048n, 2816n, { length: 700_000n, tags: "0xdf2f", nodes }],
    );
    expect(topics[0]).toBe(SUBMIT_TOPIC);
    expect(SUBMIT_TOPIC).toBe("0x167ce04d2aa1981994d3a31695da0d785373335b1078cec239a1a3a2c7675555");
    expect(decodeSubmit({ topics: topics as Hex[], data })).toEqual({
      txSeq: 7n,
      root: vector.root,
      submitter: sender,
      identity,
      sizeBytes: 700_000n,
      startEntryIndex: 2048n,
      sectors: 2816n,
      tags: "0xdf2f",
      nodes: vector.nodes,
    });
  });
});
