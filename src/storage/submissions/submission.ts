import { concat, decodeEventLog, keccak256, toEventSelector } from "viem";
import { getAbiItem } from "viem/utils";
import { flowAbi } from "../../chain/abi/flow.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";

/** One aligned block of a file's tree: its root, and the logarithm of how many sectors it spans. */
export type SubmissionNode = { readonly root: Hex; readonly height: number };

/** A file as emitted in Flow's event `Submit` (facts: storage sections 3.5 and 4). */
export type Submission = {
  /** The transaction sequence number: 0 for the first submission of the network, then incremented by one. */
  readonly txSeq: bigint;
  readonly root: Hex;
  /** The submitter in the event. The caller chose it, so it proves nothing about who sent the transaction. */
  readonly submitter: Hex;
  readonly identity: Hex;
  readonly sizeBytes: bigint;
  /** The position of the file's first sector in the flow. */
  readonly startEntryIndex: bigint;
  /** Sectors of 256 bytes that were paid for, padding included. */
  readonly sectors: bigint;
  readonly tags: Hex;
  readonly nodes: readonly SubmissionNode[];
};

/** The first topic of `Submit`, the same under both ABIs of Flow. */
export const SUBMIT_TOPIC = lowerHex(toEventSelector(getAbiItem({ abi: flowAbi, name: "Submit" })));

/** Decodes the log of a `Submit` event. Throws for any other log. */
export function decodeSubmit(log: { readonly topics: readonly Hex[]; readonly data: Hex }): Submission {
  const [topic, ...indexed] = log.topics;
  const { args } = decodeEventLog({
    abi: flowAbi,
    eventName: "Submit",
    topics: topic ? [topic, ...indexed] : [],
    data: log.data,
  });
  const nodes = args.submission.nodes.map(({ root, height }) => ({
    root: lowerHex(root),
    height: Number(height),
  }));
  return {
    txSeq: args.submissionIndex,
    root: fileRoot(nodes),
    submitter: lowerHex(args.sender),
    identity: lowerHex(args.identity),
    sizeBytes: args.submission.length,
    startEntryIndex: args.startPos,
    sectors: args.length,
    tags: lowerHex(args.submission.tags),
    nodes,
  };
}

/**
 * The file's merkle root from its submission nodes, hashed together from the right, because every node but the last
 * spans more sectors than all nodes after it. Throws a `RangeError` without nodes.
 */
export function fileRoot(nodes: readonly SubmissionNode[]): Hex {
  const last = nodes.at(-1);
  if (!last) throw new RangeError("a submission has at least one node");
  return nodes
    .slice(0, -1)
    .reduceRight<Hex>((right, { root }) => keccak256(concat([root, right])), last.root);
}

/** The sectors of 256 bytes that a submission occupies and pays for. */
export function submissionSectors(nodes: readonly SubmissionNode[]): bigint {
  return nodes.reduce((sum, { height }) => sum + 2n ** BigInt(height), 0n);
}
