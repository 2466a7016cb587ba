import { encodeFunctionData } from "viem";
import { flowAbi } from "../chain/abi/flow.ts";
import { AppError } from "../kernel/errors.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { fileShape, MAX_FILE_BYTES } from "./merkle/shape.ts";
import { fileRoot, type SubmissionNode, submissionSectors } from "./submission.ts";

/** What is submitted of a file: enough for Flow to place and price it. */
export type UploadPlan = {
  readonly root: Hex;
  readonly sizeBytes: number;
  /** How many segments are uploaded once it is submitted. */
  readonly segments: number;
  /** Sectors of 256 bytes that are paid for, padding included. */
  readonly sectors: bigint;
  readonly nodes: readonly SubmissionNode[];
};

/** Which of Flow's two ways of submitting: the current one names a submitter, that of before 2026 none. */
export type SubmitAbi = "current" | "legacy";

/**
 * The plan for a file of this size whose tree has these nodes. Throws `invalid_parameter` for a size that no file has
 * and for nodes that are not those of the size: Flow would refuse them, after the gas was paid.
 */
export function planUpload(sizeBytes: number, nodes: readonly SubmissionNode[]): UploadPlan {
  const heights = nodeHeights(sizeBytes);
  if (nodes.length !== heights.length || nodes.some(({ height }, at) => height !== heights[at]))
    throw new AppError(
      "invalid_parameter",
      `A file of ${sizeBytes} bytes has nodes of the heights ${heights.join(", ")}.`,
      { param: "nodes" },
    );
  const lowered = nodes.map(({ root, height }) => ({ root: lowerHex(root), height }));
  return {
    root: fileRoot(lowered),
    sizeBytes,
    segments: fileShape(sizeBytes).segments,
    sectors: submissionSectors(lowered),
    nodes: lowered,
  };
}

/**
 * The heights of a submission's nodes, largest first: the powers of two that make up the file's padded chunks (facts:
 * storage section 3.5). Throws `invalid_parameter` for a size that no file has.
 */
export function nodeHeights(sizeBytes: number): readonly number[] {
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1 || sizeBytes > MAX_FILE_BYTES)
    throw new AppError("invalid_parameter", `A file has 1 to ${MAX_FILE_BYTES} bytes.`, { param: "size" });
  const digits = fileShape(sizeBytes).paddedChunks.toString(2);
  return [...digits].flatMap((digit, at) => (digit === "1" ? [digits.length - 1 - at] : []));
}

/** The call of `submit` for a plan. `submitter` is the address that the event will name. */
export function encodeSubmit(
  { sizeBytes, nodes }: UploadPlan,
  { tags, submitter, abi }: { readonly tags: Hex; readonly submitter: Hex; readonly abi: SubmitAbi },
): Hex {
  const data = {
    length: BigInt(sizeBytes),
    tags,
    nodes: nodes.map(({ root, height }) => ({ root, height: BigInt(height) })),
  };
  const args = abi === "legacy" ? ([data] as const) : ([{ data, submitter }] as const);
  return encodeFunctionData({ abi: flowAbi, functionName: "submit", args });
}
