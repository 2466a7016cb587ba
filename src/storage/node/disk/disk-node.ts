import type { Database, Queries } from "../../../db/database.ts";
import { NaturalBatch } from "../../../kernel/async/batch.ts";
import { KeyedQueue } from "../../../kernel/async/keyed-queue.ts";
import { PeriodicTask } from "../../../kernel/async/periodic-task.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { Logger } from "../../../kernel/log.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { fileFailure } from "../../file-failures.ts";
import type { Hashing } from "../../merkle/file-tree.ts";
import { type FileShape, SEGMENT_BYTES } from "../../merkle/shape.ts";
import {
  type HeldBytes,
  heldBytes,
  holdFile,
  linkOverlooked,
  linkSubmissions,
  unlinkSubmissions,
} from "../held/held-changes.store.ts";
import { type HeldFile, heldById } from "../held/held-files.store.ts";
import { HeldFiles } from "../held/held-files.ts";
import { checkedShape, checkSegment, refuseSegment } from "../segment-check.ts";
import type {
  FileId,
  NodeFile,
  NodeLocation,
  PutOutcome,
  Segment,
  StorageNode,
  UploadedSegment,
} from "../storage-node.ts";
import { DiskFolder } from "./disk-folder.ts";
import { DiskOutage } from "./disk-outage.ts";
import { DiskReader } from "./disk-reader.ts";
import { deleteUnsubmitted } from "./disk-sweep.ts";
import { DiskWriter, type ProgressListener } from "./disk-writer.ts";

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly log: Logger;
  readonly hashing: Hashing;
  readonly listener?: ProgressListener;
};

/** The settings of a local storage node. */
type Options = {
  /** The folder of the file contents. */
  readonly folder: string;
  /** Maximum size of all files, bytes; files that the chain does not have yet may take a tenth of it. */
  readonly quotaBytes: number;
  /** How long a file without a submission is stored after its last segment. */
  readonly unsubmittedHours: number;
  /** Whether reads are verified too, and not only writes. */
  readonly verifies: boolean;
  /** The public URL of this node. */
  readonly url: () => string;
};

const MAX_WRITING = 256;
const MAX_EARLY_BYTES = 10 * 2 ** 20;
const UNSUBMITTED_SHARE = 0.1;
const SWEEP_MS = 60_000;

/**
 * The local storage node: bytes in a folder, its index in the database. A segment counts once it is flushed to the disk
 * and its row is committed, so that an upload resumes after a crash at any point; a file is finalized when every
 * segment counts and the chain has its submission. Reads are verified against the root, and a segment found damaged on
 * the disk is treated as missing from then on.
 */
export class DiskNode implements StorageNode {
  readonly #dependencies: Dependencies;
  readonly #options: Options;
  readonly #folder: DiskFolder;
  readonly #files: HeldFiles;
  readonly #reader: DiskReader;
  readonly #writer: DiskWriter;
  readonly #outage: DiskOutage;
  /** Serializes the losses and repairs of each file, so that a loss is never recorded over a repair. */
  readonly #repairs = new KeyedQueue();
  readonly #heldBytes: NaturalBatch<undefined, HeldBytes>;
  #writing = 0;
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "deleting unsubmitted files failed"),
  });

  constructor(dependencies: Dependencies, options: Options) {
    this.#dependencies = dependencies;
    this.#options = options;
    const { database, chainId, log, hashing, listener } = dependencies;
    const folder = new DiskFolder(options.folder);
    this.#folder = folder;
    this.#outage = new DiskOutage(options.folder, log);
    this.#files = new HeldFiles({ database, chainId, folder });
    this.#heldBytes = new NaturalBatch(async (waiting) => {
      const held = await heldBytes(database);
      return waiting.map(() => held);
    });
    this.#writer = new DiskWriter({
      ...{ database, chainId, folder, listener },
      lost: (file) => this.#files.dropLost(file),
    });
    this.#reader = new DiskReader({
      ...{ folder, hashing, log },
      verifies: options.verifies,
      damaged: (file, index) =>
        this.#repairs.run(file.id, async () => {
          if (index === undefined) return this.#files.dropAll(file);
          // The segment may have been uploaded again during the read.
          if (!(await this.#reader.readOfIncomplete(file, index))) await this.#files.dropMissing(file, index);
        }),
    });
  }

  /** Why the disk refuses uploads, in a few words; undefined if no write failed in the last 10 s. */
  get writeFault(): string | undefined {
    return this.#outage.reason;
  }

  async find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]> {
    return Promise.all(ids.map((id) => this.#files.find(id)));
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
    const place = await this.#files.locate(file, index);
    if (file.finalized) return this.#reader.read(place, index);
    const data = await this.#reader.readOfIncomplete(place, index);
    if (!data) throw fileFailure("file_not_finalized");
    return data;
  }

  async readWithProof(file: NodeFile, index: number): Promise<Segment> {
    const { root, sizeBytes } = file;
    const place = await this.#files.locate(file, index);
    const data = await this.read(file, index);
    const isOne = place.shape.paddedSegments === 1;
    const proof = isOne ? { lemma: [root], path: [] } : (await this.#reader.tree(place)).proof(index);
    return { root, index, data, proof, sizeBytes };
  }

  async locations(file: NodeFile): Promise<readonly NodeLocation[]> {
    if (!file.finalized) return [];
    return [{ url: this.#options.url(), shardId: 0, numShard: 1, latencyMs: 0 }];
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
    for (const root of roots) this.#files.forget(root);
    await unlinkSubmissions(tx, this.#dependencies.chainId, roots);
  }

  /** Deletes files that were not submitted in time. Returns the count. */
  async sweep(): Promise<number> {
    const { database, chainId, listener } = this.#dependencies;
    const { unsubmittedHours: hours } = this.#options;
    await database.transaction(async (tx) => {
      const adopted = await linkOverlooked(tx, chainId);
      if (adopted.length > 0) await listener?.progressed(tx, await heldById(tx, chainId, adopted));
    });
    listener?.committed();
    return deleteUnsubmitted({ database, folder: this.#folder }, { chainId, hours });
  }

  start(): void {
    this.#sweeps.start();
  }

  async close(): Promise<void> {
    await this.#sweeps.stop();
    await this.#folder.close();
  }

  async #put(segment: UploadedSegment, txSeq: bigint | undefined): Promise<PutOutcome> {
    const file = await this.#target(segment, txSeq);
    const shape = checkedShape(file.sizeBytes);
    if (shape.paddedChunks !== file.sectors) refuseSegment("root", "data root and tx seq not match");
    const checked = await checkSegment(segment, shape, this.#dependencies.hashing);
    if (!file.finalized || file.heldId === undefined) return this.#store(file, segment, shape, checked);
    const place = { id: file.heldId, root: file.root, shape };
    const isHere = () => this.#reader.intact(place, segment.index, checked.segmentRoot);
    if (await isHere()) return { kind: "finalized", file };
    return this.#repairs.run(place.id, async () => {
      // Another upload may have repaired it meanwhile, or dropped all missing segments.
      const now = await this.#target(segment, txSeq);
      if (now.finalized && (await isHere())) return { kind: "finalized", file: now };
      if (now.finalized) await this.#files.dropMissing(place, segment.index);
      return this.#store(await this.#target(segment, txSeq), segment, shape, checked);
    });
  }

  async #store(
    file: HeldFile,
    segment: UploadedSegment,
    shape: FileShape,
    { segmentRoot, isLast }: { readonly segmentRoot: Uint8Array; readonly isLast: boolean },
  ): Promise<PutOutcome> {
    await this.#requireRoom(file, segment.data.length);
    const isSubmitted = file.txSeq !== undefined;
    for (let attempt = 1; ; attempt++) {
      const heldId = file.heldId && attempt === 1 ? file.heldId : await this.#hold(file, isSubmitted);
      const place = { id: heldId, root: file.root, shape };
      const recorded = attempt === 1 ? file.uploadedSegments : 0;
      const written = await this.#outage.watch(() =>
        this.#writer.write(place, segment, { segmentRoot, isLast, recorded }),
      );
      if (written) return { kind: written.isNew ? "stored" : "duplicate", file: written.file };
      await this.#folder.remove(place);
      // The sweep deleted the file between the lookup and the insert; the second attempt creates it again.
      if (attempt === 2) throw new AppError("unavailable", "The file was being deleted. Try again.");
    }
  }

  /** The file of a segment, by the chain or, without a submission, by the uploader's claim. */
  async #target(segment: UploadedSegment, txSeq: bigint | undefined): Promise<HeldFile> {
    const { root, sizeBytes } = segment;
    const found = await this.#files.lookUp(txSeq === undefined ? { root, sizeBytes } : { txSeq, sizeBytes });
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
    const { quotaBytes } = this.#options;
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
}

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

function sized(sizeBytes: number) {
  return { sizeBytes, segments: Math.ceil(sizeBytes / SEGMENT_BYTES) };
}
