import { readFileSync } from "node:fs";
import { decodeFunctionData } from "viem";
import { describe, expect, test } from "vitest";
import { flowAbi } from "../../../src/chain/abi/flow.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { encodeSubmit, nodeHeights, planUpload } from "../../../src/storage/uploads/upload-plan.ts";

type Vector = {
  readonly size: number;
  readonly root: Hex;
  readonly submissionNodes: readonly { readonly root: Hex; readonly height: string }[];
  readonly sectorsCharged: number;
};

const read = (name: string) => readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), "utf8");
const vectors = (JSON.parse(read("merkle-vectors.json")) as { vectors: readonly Vector[] }).vectors.map(
  (vector) => ({
    ...vector,
    nodes: vector.submissionNodes.map(({ root, height }) => ({ root, height: Number(height) })),
  }),
);
const submitter = "0x1111111111111111111111111111111111111111";

describe("an upload plan", () => {
  test.each(vectors)("for $size bytes is that of the public SDK", ({ size, root, nodes, sectorsCharged }) => {
    expect(nodeHeights(size)).toEqual(nodes.map(({ height }) => height));
    expect(planUpload(size, nodes)).toMatchObject({ root, sizeBytes: size, sectors: BigInt(sectorsCharged) });
  });

  test("becomes the calldata of the public SDK, byte for byte, and for the older ABI the fields that it reads", () => {
    const vector = vectors.find(({ size }) => size === 1_000);
    if (!vector) throw new Error("the vector is missing");
    const plan = planUpload(1_000, vector.nodes);
    const calldata = encodeSubmit(plan, { tags: "0x", submitter, abi: "current" });
    expect(calldata).toBe(read("submit-calldata-1000.txt").trim());
    const legacy = encodeSubmit(plan, { tags: "0xdf2f", submitter, abi: "legacy" });
    expect(legacy.slice(0, 10)).toBe("0xef3e12dc");
    expect(decodeFunctionData({ abi: flowAbi, data: legacy }).args).toEqual([
      { length: 1_000n, tags: "0xdf2f", nodes: [{ root: vector.root, height: 2n }] },
    ]);
  });

  test.each([[0], [-1], [1.5], [Number.NaN], [2 ** 36 + 1], [2 ** 53]])("is refused for %d bytes", (size) => {
    expect(() => planUpload(size, [])).toThrow(/A file has 1 to/);
  });

  test("is refused for nodes whose size Flow would reject", () => {
    const root: Hex = `0x${"ab".repeat(32)}`;
    for (const nodes of [
      [],
      [{ root, height: 3 }],
      [
        { root, height: 2 },
        { root, height: 0 },
      ],
    ])
      expect(() => planUpload(1_000, nodes)).toThrow(
        "The nodes of a file of 1000 bytes must have the heights 2.",
      );
  });
});
