import type { Database, Transaction } from "../../../db/database.ts";
import { NaturalBatch } from "../../../kernel/async/batch.ts";
import { recordSegments, type WrittenSegment } from "../held/held-changes.store.ts";
import { type HeldFile, heldById } from "../held/held-files.store.ts";
import type { NodeFile, UploadedSegment } from "../storage-node.ts";
import type { DiskFolder, FileOnDisk } from "./disk-folder.ts";

/** Receives changes of files. */
export type ProgressListener = {
  /** Files with new segments, in the transaction that records those, and files that got their submission. */
  progressed(tx: Transaction, files: readonly NodeFile[]): Promise<void>;
  /** Called after a transaction in which `progressed` may have written. */
  committed(): void;
};

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly folder: DiskFolder;
  readonly listener?: ProgressListener | undefined;
  /** Called when a file with recorded segments is no longer on the disk, before it is created again. */
  readonly lost: (file: FileOnDisk) => Promise<void>;
};

/** A verified segment. `recorded` is the number of segments of its file in the database. */
type Verified = { readonly segmentRoot: Uint8Array; readonly isLast: boolean; readonly recorded: number };

/** A segment on the disk and in the database; undefined when its file was deleted from the database. */
export type Recorded = { readonly isNew: boolean; readonly file: HeldFile } | undefined;

/** The disk space of the smallest segment. */
const DISK_BLOCK_BYTES = 4_096;

/** Writes verified segments: first to the disk, flushed, then to the database. */
export class DiskWriter {
  readonly #dependencies: Dependencies;
  readonly #records: NaturalBatch<WrittenSegment, Recorded>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#records = new NaturalBatch((written) => this.#record(written), { max: 64 });
  }

  /** Writes and records a segment. Undefined when the file was deleted from the database. */
  async write(
    place: FileOnDisk,
    { index, data }: UploadedSegment,
    { segmentRoot, isLast, recorded }: Verified,
  ): Promise<Recorded> {
    const { folder, lost } = this.#dependencies;
    // If the file has to be created again, the segments recorded before were lost with the old one.
    const created = recorded > 0 ? () => lost(place) : undefined;
    await folder.writeSegment(place, index, { data, segmentRoot }, created);
    const proven = isLast ? index + 1 : undefined;
    const bytes = Math.ceil(data.length / DISK_BLOCK_BYTES) * DISK_BLOCK_BYTES;
    return this.#records.add({ heldId: place.id, index, bytes, proven });
  }

  async #record(written: readonly WrittenSegment[]): Promise<readonly Recorded[]> {
    const { database, chainId, listener } = this.#dependencies;
    const { isNew, files } = await database.transaction(async (tx) => {
      const isNew = await recordSegments(tx, written);
      const files = await heldById(tx, chainId, [...new Set(written.map(({ heldId }) => heldId))]);
      const changed = new Set([...isNew].map((key) => key.slice(0, key.indexOf(":"))));
      const updated = files.filter(({ heldId }) => heldId !== undefined && changed.has(heldId));
      if (updated.length > 0) await listener?.progressed(tx, updated);
      return { isNew, files };
    });
    listener?.committed();
    const byId = new Map(files.map((file) => [file.heldId, file]));
    const unclaimed = new Set(isNew);
    return written.map(({ heldId, index }) => {
      const file = byId.get(heldId);
      return file && { isNew: unclaimed.delete(`${heldId}:${index}`), file };
    });
  }
}
