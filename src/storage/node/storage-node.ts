import type { Hex } from "../../kernel/text/hex.ts";
import type { SegmentProof } from "../merkle/proof.ts";

/** Identifies a file by its root, or by the sequence number of one of its submissions. */
export type FileId = { readonly root: Hex } | { readonly txSeq: bigint };

/**
 * A file as a node knows it (facts: storage section 1.5). Of several submissions of one root, the first finalized one
 * is used, else the first.
 */
export type NodeFile = {
  readonly root: Hex;
  readonly sizeBytes: number;
  /** Undefined while segments were uploaded but the chain has no submission: only the uploader knows the file. */
  readonly txSeq: bigint | undefined;
  /** The position of its first sector in the flow; undefined without a submission. */
  readonly startEntryIndex: bigint | undefined;
  /** The number of segments that its bytes fill. */
  readonly segments: number;
  /** The number of segments that are stored: all once it is finalized. */
  readonly uploadedSegments: number;
  /** Every segment is stored and the chain has the submission: the file can be read. */
  readonly finalized: boolean;
  /** Held in a cache of uploads whose submission is not on the chain yet. */
  readonly isCached: boolean;
  /** The file was stored before, and was dropped. */
  readonly pruned: boolean;
};

/**
 * One segment: 262,144 bytes, or for the last one of a file as many whole chunks of 256 bytes as it fills, padded with
 * zeros at the end. `proof` leads from its padded root to the root of the file.
 */
export type Segment = {
  readonly root: Hex;
  readonly index: number;
  readonly data: Buffer;
  readonly proof: SegmentProof;
  readonly sizeBytes: number;
};

/** An uploaded segment: the file size is the uploader's claim, and optional once the chain has the submission. */
export type UploadedSegment = Omit<Segment, "sizeBytes"> & { readonly sizeBytes?: number | undefined };

/** The outcome of an upload. `finalized`: the whole file was stored before, so the segment was ignored. */
export type PutOutcome = {
  readonly kind: "stored" | "duplicate" | "finalized";
  readonly file: NodeFile;
};

/** A node with segments of a file: those whose number in the flow is `shardId` modulo `numShard`. */
export type NodeLocation = {
  readonly url: string;
  readonly shardId: number;
  readonly numShard: number;
  readonly latencyMs: number;
};

/** Storage, on a local disk or on other nodes over JSON-RPC: the single interface that the whole product uses. */
export type StorageNode = {
  /** For each id, in order, its file, or undefined for an unknown file. At most 100 ids at once. */
  find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]>;
  /**
   * Verifies a segment against the file's root and stores it, with `txSeq` as part of that submission. Throws
   * `segment_refused` (`param` is the invalid part, the message is the protocol's own text), `file_not_found` when
   * neither the chain nor the uploader gives its size, `file_too_large` for an upload above 10 MiB before its
   * submission, `storage_full`, `unavailable` under too many writes and on a disk that cannot be written,
   * `storage_unavailable` when no node accepted it.
   */
  put(segment: UploadedSegment, txSeq?: bigint): Promise<PutOutcome>;
  /**
   * The whole chunks of a segment, verified against the root of its file. They may be shared: do not write to them.
   * Throws `storage_unavailable` when no node has an intact copy, and `file_not_finalized` for a file that is not
   * finalized, unless the segment is already stored; stops soon after `signal` aborts.
   */
  read(file: NodeFile, index: number, signal?: AbortSignal): Promise<Buffer>;
  /** Like `read`, with the proof that leads to the root. */
  readWithProof(file: NodeFile, index: number, signal?: AbortSignal): Promise<Segment>;
  /** The nodes that hold this file; empty for an unknown file. */
  locations(file: NodeFile): Promise<readonly NodeLocation[]>;
  /** Starts background work: sweeping, discovering nodes. `close` ends it. */
  start(): void;
  close(): Promise<void>;
};
