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
  /** Called when the file of segments that were noted before is no longer on the disk, before it is made again. */
  readonly lost: (file: FileOnDisk) => Promise<void>;
};

/** What is known of a verified segment. `noted` is how many segments of its file the database has. */
type Verified = { readonly segmentRoot: Buffer; readonly isLast: boolean; readonly noted: number };

/** A segment that is on the disk and in the database; undefined when its file is gone from the database. */
export type Recorded = { readonly isNew: boolean; readonly file: HeldFile } | undefined;

/** What the smallest segment takes of a disk. */
const DISK_BLOCK_BYTES = 4_096;

/** Writes verified segments: to the disk first, and flushed, then into the database. */
export class DiskWriter {
  readonly #dependencies: Dependencies;
  readonly #notes: NaturalBatch<WrittenSegment, Recorded>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#notes = new NaturalBatch((written) => this.#note(written), { max: 64 });
  }

  /** Writes a segment and notes it. Undefined when the file is gone from the database. */
  async write(
    place: FileOnDisk,
    { index, data }: UploadedSegment,
    { segmentRoot, isLast, noted }: Verified,
  ): Promise<Recorded> {
    const { disk, folder, lost } = this.#dependencies;
    const { id, root, shape } = place;
    // Where the file has to be made again, the segments that were noted before went with the old one.
    const created = noted > 0 ? () => lost(place) : undefined;
    const writes = [disk.write(dataPath(folder, root, id), index * SEGMENT_BYTES, data, created)];
    if (shape.paddedSegments > 1)
      writes.push(disk.write(rootsPath(folder, root, id), index * HASH_BYTES, segmentRoot));
    await Promise.all(writes);
    const proven = isLast ? index + 1 : undefined;
    const bytes = Math.ceil(data.length / DISK_BLOCK_BYTES) * DISK_BLOCK_BYTES;
    return this.#notes.add({ heldId: id, index, bytes, proven });
  }

  /** Deletes what is on the disk of a file. */
  async remove({ id, root }: Pick<FileOnDisk, "id" | "root">): Promise<void> {
    const { disk, folder } = this.#dependencies;
    await Promise.all([disk.remove(dataPath(folder, root, id)), disk.remove(rootsPath(folder, root, id))]);
  }

  async #note(written: readonly WrittenSegment[]): Promise<readonly Recorded[]> {
    const { database, chainId, progressed, committed } = this.#dependencies;
    const { isNew, files } = await database.transaction(async (tx) => {
      const isNew = await recordSegments(tx, written);
      const files = await heldById(tx, chainId, [...new Set(written.map(({ heldId }) => heldId))]);
      const changed = new Set([...isNew].map((key) => key.slice(0, key.indexOf(":"))));
      const told = files.filter(({ heldId }) => heldId !== undefined && changed.has(heldId));
      if (told.length > 0) await progressed?.(tx, told);
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
