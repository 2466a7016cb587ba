import { encodeFunctionData } from "viem";
import { flowAbi } from "../../chain/abi/flow.ts";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { fileShape, MAX_FILE_BYTES } from "../merkle/shape.ts";
import { fileRoot, type SubmissionNode, submissionSectors } from "../submissions/submission.ts";

/** The data of a file's submission: enough for Flow to place and price it. */
export type UploadPlan = {
  readonly root: Hex;
  readonly sizeBytes: number;
  /** The number of segments to upload after the submission. */
  readonly segments: number;
  /** Sectors of 256 bytes that are paid for, padding included. */
  readonly sectors: bigint;
  readonly nodes: readonly SubmissionNode[];
};

/** The version of Flow's `submit`: the current one names a submitter, the one before 2026 does not. */
export type SubmitAbi = "current" | "legacy";

/**
 * The plan for a file of this size whose tree has these nodes. Throws `invalid_parameter` for an invalid size and for
 * nodes that do not match the size: Flow would reject them after the gas was paid.
 */
export function planUpload(sizeBytes: number, nodes: readonly SubmissionNode[]): UploadPlan {
  const heights = nodeHeights(sizeBytes);
  if (nodes.length !== heights.length || nodes.some(({ height }, at) => height !== heights[at]))
    throw new AppError(
      "invalid_parameter",
      `The nodes of a file of ${sizeBytes} bytes must have the heights ${heights.join(", ")}.`,
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
 * storage section 3.5). Throws `invalid_parameter` for an invalid size.
 */
export function nodeHeights(sizeBytes: number): readonly number[] {
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1 || sizeBytes > MAX_FILE_BYTES)
    throw new AppError("invalid_parameter", `A file has 1 to ${MAX_FILE_BYTES} bytes.`, {
      param: "sizeBytes",
    });
  const digits = fileShape(sizeBytes).paddedChunks.toString(2);
  return [...digits].flatMap((digit, at) => (digit === "1" ? [digits.length - 1 - at] : []));
}

/** The call data of `submit` for a plan. `submitter` is the address that the event will name. */
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
