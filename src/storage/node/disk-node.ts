import QuickLRU from "quick-lru";
import type { Database, Queries, Transaction } from "../../db/database.ts";
import { NaturalBatch } from "../../kernel/async/batch.ts";
import { KeyedQueue } from "../../kernel/async/keyed-queue.ts";
import { deleteInBatches, PeriodicTask } from "../../kernel/async/periodic-task.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { fileFailure } from "../file-failures.ts";
import type { Keccak } from "../keccak/keccak.ts";
import type { SegmentHasher } from "../merkle/file-tree.ts";
import { type FileShape, SEGMENT_BYTES } from "../merkle/shape.ts";
import { DiskFiles, dataPath } from "./disk-files.ts";
import { DiskReader, type FileOnDisk } from "./disk-reader.ts";
import { DiskWriter } from "./disk-writer.ts";
import { FinalizedFiles } from "./finalized-files.ts";
import {
  dropSegments,
  forgetUnsubmitted,
  type HeldBytes,
  heldBytes,
  holdFile,
  linkOverlooked,
  linkSubmissions,
  unlinkSubmissions,
} from "./held-changes.store.ts";
import {
  type FoundFile,
  findHeld,
  type HeldFile,
  heldById,
  heldGeneration,
  type WantedFile,
} from "./held-files.store.ts";
import { checkedShape, checkSegment, refuseSegment } from "./segment-check.ts";
import type {
  FileId,
  NodeFile,
  NodeLocation,
  PutOutcome,
  Segment,
  StorageNode,
  UploadedSegment,
} from "./storage-node.ts";

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly log: Logger;
  readonly keccak: Keccak;
  readonly hasher: SegmentHasher;
  /** The folder of the file contents. Several processes may share it, as they share the database. */
  readonly folder: string;
  /** Maximum size of all files, bytes; files that the chain does not have yet may take a tenth of it. */
  readonly quotaBytes: number;
  /** How long a file without a submission is stored after its last segment. */
  readonly unsubmittedHours: number;
  /** Whether reads are verified too, and not only writes. */
  readonly verifies: boolean;
  /** The public URL of this node. */
  readonly url: () => string;
  /** Receives files with new segments, in the transaction that records those, and files that got their submission. */
  readonly progressed?: (tx: Transaction, files: readonly NodeFile[]) => Promise<void>;
  /** Called after a transaction in which `progressed` may have written. */
  readonly committed?: () => void;
};

const MAX_WRITING = 256;
const MAX_EARLY_BYTES = 10 * 2 ** 20;
const UNSUBMITTED_SHARE = 0.1;
const KNOWN_IDS = 16_384;
/** How long a file seen on the disk is assumed to be there: as long as `FinalizedFiles` trusts a generation. */
const PRESENT_MS = 5_000;
const SWEEP_MS = 60_000;
const SWEEP_BATCH = 100;

/**
 * The local storage node: bytes in a folder, its index in the database. A segment counts once it is flushed to the disk
 * and its row is committed, so that an upload resumes after a crash at any point; a file is finalized when every
 * segment counts and the chain has its submission. Reads are verified against the root, and a segment found damaged on
 * the disk is treated as missing from then on.
 */
export class DiskNode implements StorageNode {
  readonly #dependencies: Dependencies;
  readonly #disk = new DiskFiles();
  readonly #reader: DiskReader;
  readonly #writer: DiskWriter;
  readonly #finalized: FinalizedFiles;
  readonly #heldIds = new QuickLRU<string, string>({ maxSize: KNOWN_IDS });
  /** Serializes the losses and repairs of each file, so that a loss is never recorded over a repair. */
  readonly #repairs = new KeyedQueue();
  readonly #presentUntil = new QuickLRU<string, number>({ maxSize: KNOWN_IDS });
  readonly #finds: NaturalBatch<WantedFile, FoundFile | undefined>;
  readonly #heldBytes: NaturalBatch<undefined, HeldBytes>;
  #writing = 0;
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "deleting unsubmitted files failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { database, chainId } = dependencies;
    this.#finalized = new FinalizedFiles(() => heldGeneration(database));
    this.#finds = new NaturalBatch((wanted) => findHeld(database, chainId, wanted), { max: 100, lanes: 2 });
    this.#heldBytes = new NaturalBatch(async (waiting) => {
      const held = await heldBytes(database);
      return waiting.map(() => held);
    });
    this.#writer = new DiskWriter({
      ...dependencies,
      disk: this.#disk,
      lost: (file) => this.#drop(file, ALL),
    });
    this.#reader = new DiskReader({
      ...dependencies,
      disk: this.#disk,
      damaged: (file, index) =>
        this.#repairs.run(file.id, async () => {
          if (index === undefined) return this.#drop(file, ALL);
          // The segment may have been uploaded again during the read.
          if (!(await this.#reader.readOfIncomplete(file, index))) await this.#dropMissing(file, index);
        }),
    });
  }

  async find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]> {
    return Promise.all(
      ids.map(async (id) => {
        if ("txSeq" in id) return this.#present(this.#known(await this.#finds.add(id)));
        const root = lowerHex(id.root);
        const finalized = await this.#finalized.get(root);
        return this.#present(finalized ?? this.#known(await this.#finds.add({ root })));
      }),
    );
  }

  async put(segment: UploadedSegment, txSeq?: bigint): Promise<PutOutcome> {
    if (this.#writing >= MAX_WRITING)
      throw new AppError("unavailable", `too many data writing: ${MAX_WRITING}`, { retryAfterSeconds: 1 });
    this.#writing++;
    try {
      return await this.#put({ ...segment, root: lowerHex(segment.root) }, txSeq);
    } finally {
      this.#writing--;
    }
  }

  async read(file: NodeFile, index: number): Promise<Buffer> {
    const place = await this.#locate(file, index);
    if (file.finalized) return this.#reader.read(place, index);
    const data = await this.#reader.readOfIncomplete(place, index);
    if (!data) throw notFinalized();
    return data;
  }

  async readWithProof(file: NodeFile, index: number): Promise<Segment> {
    const { root, sizeBytes } = file;
    const place = await this.#locate(file, index);
    const data = await this.read(file, index);
    const isOne = place.shape.paddedSegments === 1;
    const proof = isOne ? { lemma: [root], path: [] } : (await this.#reader.tree(place)).proof(index);
    return { root, index, data, proof, sizeBytes };
  }

  async locations(file: NodeFile): Promise<readonly NodeLocation[]> {
    if (!file.finalized) return [];
    return [{ url: this.#dependencies.url(), shardId: 0, numShard: 1, latencyMs: 0 }];
  }

  /** Call in the transaction that inserts submissions. Returns the files that are finalized by them. */
  async submitted(
    tx: Queries,
    submissions: readonly { readonly root: Hex; readonly sectors: bigint }[],
  ): Promise<readonly NodeFile[]> {
    return heldById(tx, this.#dependencies.chainId, await linkSubmissions(tx, submissions));
  }

  /** Call with the roots of deleted submissions, in the transaction that deletes them. */
  async reverted(tx: Queries, roots: readonly Hex[]): Promise<void> {
    for (const root of roots) this.#finalized.forget(root);
    await unlinkSubmissions(tx, this.#dependencies.chainId, roots);
  }

  /** Deletes files that were not submitted in time. Returns the count. */
  async sweep(): Promise<number> {
    const { database, chainId, unsubmittedHours: hours, progressed, committed } = this.#dependencies;
    await database.transaction(async (tx) => {
      const adopted = await linkOverlooked(tx, chainId);
      if (adopted.length > 0) await progressed?.(tx, await heldById(tx, chainId, adopted));
    });
    committed?.();
    return deleteInBatches(SWEEP_BATCH, async (limit) => {
      const forgotten = await forgetUnsubmitted(database, { chainId, hours, limit });
      for (const file of forgotten) await this.#writer.remove(file);
      return forgotten.length;
    });
  }

  start(): void {
    this.#sweeps.start();
  }

  async close(): Promise<void> {
    await this.#sweeps.stop();
    await this.#disk.close();
  }

  async #put(segment: UploadedSegment, txSeq: bigint | undefined): Promise<PutOutcome> {
    const { keccak, hasher } = this.#dependencies;
    const file = await this.#target(segment, txSeq);
    const shape = checkedShape(file.sizeBytes);
    if (shape.paddedChunks !== file.sectors) refuseSegment("root", "data root and tx seq not match");
    const checked = await checkSegment(segment, shape, { keccak, hasher });
    if (!file.finalized || file.heldId === undefined) return this.#store(file, segment, shape, checked);
    const place = { id: file.heldId, root: file.root, shape };
    const isHere = () => this.#reader.intact(place, segment.index, checked.segmentRoot);
    if (await isHere()) return { kind: "finalized", file };
    return this.#repairs.run(place.id, async () => {
      // Another upload may have repaired it meanwhile, or dropped all missing segments.
      const now = await this.#target(segment, txSeq);
      if (now.finalized && (await isHere())) return { kind: "finalized", file: now };
      if (now.finalized) await this.#dropMissing(place, segment.index);
      return this.#store(await this.#target(segment, txSeq), segment, shape, checked);
    });
  }

  async #store(
    file: HeldFile,
    segment: UploadedSegment,
    shape: FileShape,
    { segmentRoot, isLast }: { readonly segmentRoot: Buffer; readonly isLast: boolean },
  ): Promise<PutOutcome> {
    await this.#requireRoom(file, segment.data.length);
    const isSubmitted = file.txSeq !== undefined;
    for (let attempt = 1; ; attempt++) {
      const heldId = file.heldId && attempt === 1 ? file.heldId : await this.#hold(file, isSubmitted);
      const place = { id: heldId, root: file.root, shape };
      const recorded = attempt === 1 ? file.uploadedSegments : 0;
      const written = await this.#writer.write(place, segment, { segmentRoot, isLast, recorded });
      if (written) return { kind: written.isNew ? "stored" : "duplicate", file: written.file };
      await this.#writer.remove(place);
      // The sweep deleted the file between the lookup and the insert; the second attempt creates it again.
      if (attempt === 2) throw new AppError("unavailable", "The file was being deleted. Try again.");
    }
  }

  /** The file of a segment, by the chain or, without a submission, by the uploader's claim. */
  async #target(segment: UploadedSegment, txSeq: bigint | undefined): Promise<HeldFile> {
    const { root, sizeBytes } = segment;
    const found = await this.#finds.add(txSeq === undefined ? { root, sizeBytes } : { txSeq, sizeBytes });
    if (found && found.root !== root) refuseSegment("root", "data root and tx seq not match");
    if (found?.txSeq !== undefined) {
      if (sizeBytes !== undefined && sizeBytes !== found.sizeBytes)
        refuseSegment("fileSize", "segment file size not matched with tx file size");
      return found;
    }
    if (txSeq !== undefined || sizeBytes === undefined) throw fileFailure("file_not_found");
    if (sizeBytes > MAX_EARLY_BYTES)
      throw new AppError("file_too_large", "caching of large file when tx is unavailable is not supported", {
        param: "fileSize",
      });
    const sectors = checkedShape(sizeBytes).paddedChunks;
    if (found && found.sectors === sectors) return { ...found, ...sized(sizeBytes) };
    return { ...UNKNOWN, root, sectors, ...sized(sizeBytes) };
  }

  /** Checked before anything is written; concurrent writes may exceed the quota, by 64 MiB per process. */
  async #requireRoom({ txSeq }: HeldFile, bytes: number): Promise<void> {
    const { quotaBytes } = this.#dependencies;
    const held = await this.#heldBytes.add(undefined);
    if (held.all + bytes > quotaBytes)
      throw new AppError("storage_full", "This storage node has no room left.", { retryAfterSeconds: 3_600 });
    if (txSeq === undefined && held.unsubmitted + bytes > quotaBytes * UNSUBMITTED_SHARE)
      throw new AppError(
        "storage_full",
        "Submit the file first: there is no room left for unsubmitted files.",
        {
          retryAfterSeconds: 60,
        },
      );
  }

  #hold({ root, sectors, sizeBytes }: HeldFile, isSubmitted: boolean): Promise<string> {
    return holdFile(this.#dependencies.database, { root, sectors, sizeBytes, isSubmitted });
  }

  #known(file: FoundFile | undefined): HeldFile | undefined {
    if (file?.finalized) this.#finalized.keep(file);
    if (file?.heldId !== undefined) this.#heldIds.set(keyOf(file.root, file.sectors), file.heldId);
    return file;
  }

  /** A file that is finalized in the database counts as finalized only while its bytes are on the disk. */
  async #present<File extends HeldFile>(file: File | undefined): Promise<File | undefined> {
    if (!file?.finalized || file.heldId === undefined) return file;
    const until = this.#presentUntil.get(file.heldId) ?? 0;
    if (performance.now() < until) return file;
    const sizeBytes = await this.#disk.sizeOf(dataPath(this.#dependencies.folder, file.root, file.heldId));
    if (sizeBytes <= (file.heldSegments - 1) * SEGMENT_BYTES) {
      const uploadedSegments = Math.floor(sizeBytes / SEGMENT_BYTES);
      return { ...file, finalized: false, uploadedSegments };
    }
    this.#presentUntil.set(file.heldId, performance.now() + PRESENT_MS);
    return file;
  }

  /** The place of a file on the disk. Throws `file_not_finalized`, and a `RangeError` for an invalid segment index. */
  async #locate(file: NodeFile, index: number): Promise<FileOnDisk> {
    if (file.txSeq === undefined) throw notFinalized();
    const shape = checkedShape(file.sizeBytes);
    if (!(index >= 0 && index < shape.segments)) throw new RangeError(`no segment ${index}`);
    const id = this.#heldIds.get(keyOf(file.root, shape.paddedChunks)) ?? (await this.#findId(file));
    return { id, root: file.root, shape };
  }

  async #findId({ root, sizeBytes }: NodeFile): Promise<string> {
    const found = this.#known(await this.#finds.add({ root, sizeBytes }));
    if (found?.txSeq !== undefined && found.heldId !== undefined) return found.heldId;
    throw notFinalized();
  }

  /** Drops an unreadable segment, and the segments beyond the end of the file, which may have been truncated. */
  async #dropMissing(file: FileOnDisk, index: number): Promise<void> {
    const sizeBytes = await this.#disk.sizeOf(dataPath(this.#dependencies.folder, file.root, file.id));
    await this.#drop(file, { index, from: Math.ceil(sizeBytes / SEGMENT_BYTES) });
  }

  async #drop({ id, root, shape }: FileOnDisk, which: { index: number; from: number }): Promise<void> {
    this.#finalized.forget(root);
    this.#heldIds.delete(keyOf(root, shape.paddedChunks));
    this.#presentUntil.delete(id);
    await dropSegments(this.#dependencies.database, id, which);
  }
}

const ALL = { index: 0, from: 0 } as const;

/** A file without segments and without a submission. */
const UNKNOWN = {
  heldId: undefined,
  txSeq: undefined,
  startEntryIndex: undefined,
  heldSegments: 0,
  uploadedSegments: 0,
  finalized: false,
  isCached: false,
  pruned: false,
} as const;

function notFinalized(): AppError {
  return fileFailure("file_not_finalized");
}

function sized(sizeBytes: number) {
  return { sizeBytes, segments: Math.ceil(sizeBytes / SEGMENT_BYTES) };
}

function keyOf(root: Hex, sectors: number): string {
  return `${root}:${sectors}`;
}
