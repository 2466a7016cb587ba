import type { Hex } from "../../../../../../src/kernel/text/hex.ts";

/** What a segment can be, as the numbers of `SegmentStates`. */
export const SEGMENT = { waiting: 0, busy: 1, done: 2, again: 3, failed: 4 } as const;

/** The state of each segment of a file, by its index: a byte of `SEGMENT`. */
export type SegmentStates = Uint8Array;

/** A stored file, as the chain states it. */
export type StoredFile = { readonly root: Hex; readonly sizeBytes: number };

/** What is received: the bytes of one stored file, or of several in order. */
export type Receipt = {
  readonly parts: readonly StoredFile[];
  /** The folder that lists them as the file at `names`: its manifest is verified, and must list the same roots. */
  readonly listing?: { readonly folder: StoredFile; readonly names: readonly string[] } | undefined;
  /** Where the bytes are written as they are verified; without it they are returned. */
  readonly handle?: FileSystemFileHandle | undefined;
};

/** What the page asks of the worker. `send` is for the file that was hashed before, without the segments of `stored`. */
export type FileTask =
  | { readonly kind: "hash"; readonly file: Blob }
  | { readonly kind: "send"; readonly stored: ReadonlySet<number> }
  | { readonly kind: "receive"; readonly receipt: Receipt };

/** A hashed file: what its submission needs. */
export type HashedFile = {
  readonly root: Hex;
  readonly nodes: readonly { readonly root: Hex; readonly height: number }[];
};

/** What the worker reports. After `hashed`, `sent`, `received` or `failed` it waits for the next task. */
export type FileReport =
  | { readonly kind: "hashing"; readonly doneBytes: number }
  | { readonly kind: "hashed"; readonly file: HashedFile }
  | { readonly kind: "segments"; readonly states: SegmentStates; readonly againCount: number }
  /** Something takes longer; undefined when it goes on. */
  | { readonly kind: "waiting"; readonly why: string | undefined }
  | { readonly kind: "sent" }
  | { readonly kind: "received"; readonly bytes: Blob | undefined; readonly isListed: boolean }
  /** `segment` is the index of the segment that was refused. */
  | { readonly kind: "failed"; readonly message: string; readonly segment: number | undefined };
