import type { Hex } from "../../kernel/text/hex.ts";
import type { SegmentProof } from "../merkle/proof.ts";

/** How a file is asked for: by its root, or by the sequence number of one of its submissions. */
export type FileId = { readonly root: Hex } | { readonly txSeq: bigint };

/**
 * A file as a node knows it (facts: storage section 1.5). Of several submissions of one root it is the first that is
 * finalized, else the first.
 */
export type NodeFile = {
  readonly root: Hex;
  readonly sizeBytes: number;
  /** Undefined while segments came but no submission was seen on the chain: only its uploader knows of it. */
  readonly txSeq: bigint | undefined;
  /** The position of its first sector in the flow; undefined without a submission. */
  readonly startEntryIndex: bigint | undefined;
  /** How many segments its bytes fill. */
  readonly segments: number;
  /** How many of them are here: all once it is finalized. */
  readonly uploadedSegments: number;
  /** Every segment is here and the chain has the submission: it can be read. */
  readonly finalized: boolean;
  /** Held in a cache of uploads whose submission was not seen yet. */
  readonly isCached: boolean;
  /** It was here and was dropped. */
  readonly pruned: boolean;
};

/**
 * One segment: 262,144 bytes, the last one of a file as many whole chunks of 256 bytes as it fills, its end padded with
 * zeros. `proof` leads from its padded root to the root of the file.
 */
export type Segment = {
  readonly root: Hex;
  readonly index: number;
  readonly data: Buffer;
  readonly proof: SegmentProof;
  readonly sizeBytes: number;
};

/** A segment as it is uploaded: the size of the file is the uploader's word, and may be left out once the chain has it. */
export type UploadedSegment = Omit<Segment, "sizeBytes"> & { readonly sizeBytes?: number | undefined };

/** What became of an uploaded segment. `finalized`: the whole file was here before, so it was not looked at. */
export type PutOutcome = {
  readonly kind: "stored" | "duplicate" | "finalized";
  readonly file: NodeFile;
};

/** Where segments of a file can be had. The node holds every segment of the flow whose number is `shardId` modulo `numShard`. */
export type NodeLocation = {
  readonly url: string;
  readonly shardId: number;
  readonly numShard: number;
  readonly latencyMs: number;
};

/** Storage, ours on disk or other nodes over JSON-RPC: the one interface that all of the product uses. */
export type StorageNode = {
  /** For each id, in their order, its file, or undefined when nothing is known of it. At most 100 at once. */
  find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]>;
  /**
   * Verifies a segment against the file's root and keeps it. With `txSeq` it is of that submission. Throws
   * `segment_refused` (`param` says what is at fault, the message is the protocol's own text), `file_not_found` when
   * neither the chain nor the uploader tells its size, `file_too_large` for an upload before its submission above
   * 10 MiB, `storage_full`, `unavailable` when too much is being written, `storage_unavailable` when no node took it.
   */
  put(segment: UploadedSegment, txSeq?: bigint): Promise<PutOutcome>;
  /**
   * The whole chunks of a segment, verified against the root of its file. They may be shared: do not write to them.
   * Throws `storage_unavailable` when no node has it unharmed, and `file_not_finalized` for a file that is not finalized
   * unless the segment is here all the same; ends soon after `signal` does.
   */
  read(file: NodeFile, index: number, signal?: AbortSignal): Promise<Buffer>;
  /** Like `read`, with the proof that leads to the root. */
  readWithProof(file: NodeFile, index: number, signal?: AbortSignal): Promise<Segment>;
  /** Which nodes hold this file; none when nothing is known of it. */
  locations(file: NodeFile): Promise<readonly NodeLocation[]>;
  /** Begins and ends what it does by itself: sweeping, asking nodes who they are. */
  start(): void;
  close(): Promise<void>;
};
