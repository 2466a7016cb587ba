import { concat, keccak256 } from "viem";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { SubmissionNode } from "../../../src/storage/submissions/submission.ts";

/** The key of a submission in Flow: the hash of its concatenated node roots. For one node this is not the file root. */
export function submissionIdentity(nodes: readonly SubmissionNode[]): Hex {
  return keccak256(concat(nodes.map(({ root }) => root)));
}
