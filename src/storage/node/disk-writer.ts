import type { Database, Transaction } from "../../db/database.ts";
import { NaturalBatch } from "../../kernel/async/batch.ts";
import { HASH_BYTES } from "../keccak/keccak.ts";
import { SEGMENT_BYTES } from "../merkle/shape.ts";
import { type DiskFiles, dataPath, rootsPath } from "./disk-files.ts";
import type { FileOnDisk } from "./disk-reader.ts";
import { recordSegments, type WrittenSegment } from "./held-changes.store.ts";
import { type HeldFile, heldById } from "./held-files.store.ts";
import type { NodeFile, UploadedSegment } from "./storage-node.ts";

type Dependencies = {
  readonly disk: DiskFiles;
  readonly folder: string;
  readonly database: Database;
  readonly chainId: number;
  readonly progressed?: (tx: Transaction, files: readonly NodeFile[]) => Promise<void>;
  readonly committed?: () => void;
  /** Called when a file with recorded segments is no longer on the disk, before it is created again. */
  readonly lost: (file: FileOnDisk) => Promise<void>;
};

/** A verified segment. `recorded` is the number of segments of its file in the database. */
type Verified = { readonly segmentRoot: Buffer; readonly isLast: boolean; readonly recorded: number };

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
    const { disk, folder, lost } = this.#dependencies;
    const { id, root, shape } = place;
    // If the file has to be created again, the segments recorded before were lost with the old one.
    const created = recorded > 0 ? () => lost(place) : undefined;
    const writes = [disk.write(dataPath(folder, root, id), index * SEGMENT_BYTES, data, created)];
    if (shape.paddedSegments > 1)
      writes.push(disk.write(rootsPath(folder, root, id), index * HASH_BYTES, segmentRoot));
    await Promise.all(writes);
    const proven = isLast ? index + 1 : undefined;
    const bytes = Math.ceil(data.length / DISK_BLOCK_BYTES) * DISK_BLOCK_BYTES;
    return this.#records.add({ heldId: id, index, bytes, proven });
  }

  /** Deletes a file from the disk. */
  async remove({ id, root }: Pick<FileOnDisk, "id" | "root">): Promise<void> {
    const { disk, folder } = this.#dependencies;
    await Promise.all([disk.remove(dataPath(folder, root, id)), disk.remove(rootsPath(folder, root, id))]);
  }

  async #record(written: readonly WrittenSegment[]): Promise<readonly Recorded[]> {
    const { database, chainId, progressed, committed } = this.#dependencies;
    const { isNew, files } = await database.transaction(async (tx) => {
      const isNew = await recordSegments(tx, written);
      const files = await heldById(tx, chainId, [...new Set(written.map(({ heldId }) => heldId))]);
      const changed = new Set([...isNew].map((key) => key.slice(0, key.indexOf(":"))));
      const updated = files.filter(({ heldId }) => heldId !== undefined && changed.has(heldId));
      if (updated.length > 0) await progressed?.(tx, updated);
      return { isNew, files };
    });
    committed?.();
    const byId = new Map(files.map((file) => [file.heldId, file]));
    const unclaimed = new Set(isNew);
    return written.map(({ heldId, index }) => {
      const file = byId.get(heldId);
      return file && { isNew: unclaimed.delete(`${heldId}:${index}`), file };
    });
  }
}
