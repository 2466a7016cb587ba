import { z } from "zod";
import { type Hex, isHash32, lowerHex } from "../../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../../merkle/shape.ts";
import type { Segment, UploadedSegment } from "../storage-node.ts";
import { NodeFailure } from "./node-rpc.client.ts";

/** A file as reported by another node (facts: storage section 1.5). */
export type FileInfoAnswer = {
  readonly root: Hex;
  readonly sizeBytes: number;
  readonly txSeq: bigint;
  readonly startEntryIndex: bigint;
  readonly finalized: boolean;
  readonly isCached: boolean;
  readonly pruned: boolean;
  readonly uploadedSegments: number;
};

const count = z.number().int().nonnegative();
const hash = z.string().refine(isHash32).transform(lowerHex);

const fileInfo = z
  .object({
    tx: z.object({ dataMerkleRoot: hash, startEntryIndex: count, size: count.min(1), seq: count }),
    finalized: z.boolean(),
    isCached: z.boolean().optional().default(false),
    pruned: z.boolean().optional().default(false),
    uploadedSegNum: count,
  })
  .nullable();

const segment = z
  .object({
    data: z.string().max(Math.ceil(SEGMENT_BYTES / 3) * 4),
    index: count,
    proof: z.object({ lemma: z.array(hash).max(64), path: z.array(z.boolean()).max(64) }),
  })
  .nullable();

/** Parses the response of `zgs_getFileInfo`; undefined when the node does not know the file. Throws a `NodeFailure`. */
export function readFileInfo(answer: unknown): FileInfoAnswer | undefined {
  const { success, data } = fileInfo.safeParse(answer);
  if (!success) throw new NodeFailure("malformed", "the response is not a file info");
  if (!data) return undefined;
  const { tx, finalized, isCached, pruned, uploadedSegNum } = data;
  return {
    root: tx.dataMerkleRoot,
    sizeBytes: tx.size,
    txSeq: BigInt(tx.seq),
    startEntryIndex: BigInt(tx.startEntryIndex),
    finalized,
    isCached,
    pruned,
    uploadedSegments: uploadedSegNum,
  };
}

/** Parses the response of `zgs_downloadSegmentWithProof`, without verifying it. Throws a `NodeFailure`. */
export function readSegment(answer: unknown): Pick<Segment, "index" | "data" | "proof"> {
  const { success, data } = segment.safeParse(answer);
  if (!success) throw new NodeFailure("malformed", "the response is not a segment");
  if (!data) throw new NodeFailure("refused", "the node has no such segment");
  return { index: data.index, proof: data.proof, data: Buffer.from(data.data, "base64") };
}

/** A segment as a parameter of `zgs_uploadSegments`. */
export function toWire({ root, index, data, proof }: UploadedSegment, sizeBytes: number): object {
  return { root, index, data: data.toString("base64"), proof, fileSize: sizeBytes };
}
