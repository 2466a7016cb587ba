import QuickLRU from "quick-lru";
import type { Database } from "../../../db/database.ts";
import { NaturalBatch } from "../../../kernel/async/batch.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { fileFailure } from "../../file-failures.ts";
import { SEGMENT_BYTES } from "../../merkle/shape.ts";
import type { DiskFolder, FileOnDisk } from "../disk/disk-folder.ts";
import { FinalizedFiles } from "../disk/finalized-files.ts";
import { checkedShape } from "../segment-check.ts";
import type { FileId, NodeFile } from "../storage-node.ts";
import { dropSegments, lockHeld } from "./held-changes.store.ts";
import {
  type FoundFile,
  findHeld,
  type HeldFile,
  heldGeneration,
  type WantedFile,
} from "./held-files.store.ts";

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly folder: DiskFolder;
};

const KNOWN_IDS = 16_384;
/** How long a file seen on the disk is assumed to be there: as long as `FinalizedFiles` trusts a generation. */
const PRESENT_MS = 5_000;

/** Finds the files of the local node, in batches, and remembers those that are finalized and on the disk. */
export class HeldFiles {
  readonly #dependencies: Dependencies;
  readonly #finalized: FinalizedFiles;
  readonly #heldIds = new QuickLRU<string, string>({ maxSize: KNOWN_IDS });
  readonly #presentUntil = new QuickLRU<string, number>({ maxSize: KNOWN_IDS });
  readonly #finds: NaturalBatch<WantedFile, FoundFile | undefined>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { database, chainId } = dependencies;
    this.#finalized = new FinalizedFiles(() => heldGeneration(database));
    this.#finds = new NaturalBatch((wanted) => findHeld(database, chainId, wanted), { max: 100, lanes: 2 });
  }

  /** A file, undefined when it is unknown. It counts as finalized only while its bytes are on the disk. */
  async find(id: FileId): Promise<HeldFile | undefined> {
    if ("txSeq" in id) return this.#present(this.#known(await this.#finds.add(id)));
    const root = lowerHex(id.root);
    const finalized = await this.#finalized.get(root);
    return this.#present(finalized ?? this.#known(await this.#finds.add({ root })));
  }

  /** A file as the database has it now, undefined when it is unknown. */
  lookUp(wanted: WantedFile): Promise<HeldFile | undefined> {
    return this.#finds.add(wanted);
  }

  /** The place of a file on the disk. Throws `file_not_finalized`, and a `RangeError` for an invalid segment index. */
  async locate(file: NodeFile, index: number): Promise<FileOnDisk> {
    if (file.txSeq === undefined) throw fileFailure("file_not_finalized");
    const shape = checkedShape(file.sizeBytes);
    if (!(index >= 0 && index < shape.segments)) throw new RangeError(`no segment ${index}`);
    const id = this.#heldIds.get(keyOf(file.root, shape.paddedChunks)) ?? (await this.#findId(file));
    return { id, root: file.root, shape };
  }

  /** Call when submissions of this root are deleted: it may no longer be finalized. */
  forget(root: Hex): void {
    this.#finalized.forget(root);
  }

  /** Drops all segments of a file. */
  dropAll(file: FileOnDisk): Promise<void> {
    return this.#drop(file, { index: 0, from: 0 });
  }

  /**
   * Drops all segments of a file that is no longer on the disk, before it is created again: unless another process has
   * done both meanwhile, and recorded segments of the new one.
   */
  async dropLost(file: FileOnDisk): Promise<void> {
    const { database, folder } = this.#dependencies;
    this.#forget(file);
    await database.transaction(async (tx) => {
      await lockHeld(tx, file.id);
      if ((await folder.sizeOf(file)) === 0) await dropSegments(tx, file.id, { index: 0, from: 0 });
    });
  }

  /** Drops an unreadable segment, and the segments beyond the end of the file, which may have been truncated. */
  async dropMissing(file: FileOnDisk, index: number): Promise<void> {
    const sizeBytes = await this.#dependencies.folder.sizeOf(file);
    await this.#drop(file, { index, from: Math.ceil(sizeBytes / SEGMENT_BYTES) });
  }

  async #drop(file: FileOnDisk, which: { index: number; from: number }): Promise<void> {
    this.#forget(file);
    await dropSegments(this.#dependencies.database, file.id, which);
  }

  #forget({ id, root, shape }: FileOnDisk): void {
    this.#finalized.forget(root);
    this.#heldIds.delete(keyOf(root, shape.paddedChunks));
    this.#presentUntil.delete(id);
  }

  async #findId({ root, sizeBytes }: NodeFile): Promise<string> {
    const found = this.#known(await this.#finds.add({ root, sizeBytes }));
    if (found?.txSeq !== undefined && found.heldId !== undefined) return found.heldId;
    throw fileFailure("file_not_finalized");
  }

  #known(file: FoundFile | undefined): HeldFile | undefined {
    if (file?.finalized) this.#finalized.keep(file);
    if (file?.heldId !== undefined) this.#heldIds.set(keyOf(file.root, file.sectors), file.heldId);
    return file;
  }

  async #present(file: HeldFile | undefined): Promise<HeldFile | undefined> {
    if (!file?.finalized || file.heldId === undefined) return file;
    const until = this.#presentUntil.get(file.heldId) ?? 0;
    if (performance.now() < until) return file;
    const sizeBytes = await this.#dependencies.folder.sizeOf({ id: file.heldId, root: file.root });
    if (sizeBytes <= (file.heldSegments - 1) * SEGMENT_BYTES) {
      const uploadedSegments = Math.floor(sizeBytes / SEGMENT_BYTES);
      return { ...file, finalized: false, uploadedSegments };
    }
    this.#presentUntil.set(file.heldId, performance.now() + PRESENT_MS);
    return file;
  }
}

function keyOf(root: Hex, sectors: number): string {
  return `${root}:${sectors}`;
}
