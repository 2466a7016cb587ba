import QuickLru from "quick-lru";
import { nextTurn } from "../../../kernel/async/next-turn.ts";
import { ByteLru } from "../../../kernel/byte-lru.ts";
import { equalBytes } from "../../../kernel/bytes.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { Logger } from "../../../kernel/log.ts";
import { TransientMap } from "../../../kernel/transient-map.ts";
import { HASH_BYTES } from "../../keccak/keccak.ts";
import { emptyRoots, type Hashing } from "../../merkle/file-tree.ts";
import { toHash } from "../../merkle/proof.ts";
import { SegmentTree } from "../../merkle/segment-tree.ts";
import { segmentLeaves } from "../../merkle/shape.ts";
import type { DiskFolder, FileOnDisk } from "./disk-folder.ts";

type Dependencies = {
  readonly folder: DiskFolder;
  readonly hashing: Hashing;
  readonly log: Logger;
  /** When false, the disk is trusted and damage is not detected. */
  readonly verifies: boolean;
  /** Called for a damaged segment; without an index, no segment of the file can be verified. */
  readonly damaged: (file: FileOnDisk, index: number | undefined) => Promise<void>;
};

const TREE_CACHE_BYTES = 32 * 2 ** 20;
/** Segment roots that are examined without a pause: 3 ms. */
const ROOTS_PER_TURN = 8_192;
const REMEMBERED_GAPS = 1_024;
/** The tree of an incomplete file is built again after so many times what the last one took. */
const GAP_FACTOR = 20;
/** Building the tree of a smaller file costs less than to remember that it is incomplete. */
const MIN_GAP_MS = 5;

/** Reads segments from the disk and verifies each against the root of its file, to detect bit rot. */
export class DiskReader {
  readonly #dependencies: Dependencies;
  readonly #trees = new ByteLru<SegmentTree>({ maxBytes: TREE_CACHE_BYTES, maxShare: 1 });
  /** The trees that are read now, of complete files and of incomplete ones: that of 64 GiB takes 16 MiB and 0.2 s. */
  readonly #reading = new TransientMap<string, Promise<SegmentTree>>();
  readonly #readingInPart = new TransientMap<string, Promise<SegmentTree | undefined>>();
  /** The `performance.now()` until which the segment roots of a large incomplete file are not read again. */
  readonly #incompleteUntil = new QuickLru<string, number>({ maxSize: REMEMBERED_GAPS });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The whole chunks of a segment. When they do not verify, reports the damage and throws `storage_unavailable`. */
  async read(file: FileOnDisk, index: number): Promise<Buffer> {
    const { shape, root } = file;
    if (!this.#dependencies.verifies) return this.#bytes(file, index);
    const expected = shape.paddedSegments === 1 ? toHash(root) : (await this.tree(file)).hash(0, index);
    const data = await this.#bytes(file, index);
    const found = await this.#dependencies.hashing.hasher.rootOfChunks(data, segmentLeaves(shape, index));
    if (equalBytes(found, expected)) return data;
    return this.#fail(file, index, new Error("the bytes do not match the root"));
  }

  /**
   * The whole chunks of a segment of an incomplete file. Undefined when they are missing, or when too many segment
   * roots are missing to verify them; no damage is reported, since the file was never reported as complete.
   */
  async readOfIncomplete(file: FileOnDisk, index: number): Promise<Buffer | undefined> {
    const isOne = file.shape.paddedSegments === 1;
    const expected = isOne ? toHash(file.root) : (await this.#treeOfIncomplete(file))?.hash(0, index);
    return expected && this.intact(file, index, expected);
  }

  /** Anyone may read an incomplete file, again and again: its segment roots are not hashed for every read. */
  async #treeOfIncomplete(file: FileOnDisk): Promise<SegmentTree | undefined> {
    const startedMs = performance.now();
    if (startedMs < (this.#incompleteUntil.get(file.id) ?? 0)) return undefined;
    return shared(this.#readingInPart, file.id, async () => {
      const tree = await this.#intactTree(file);
      const endedMs = performance.now();
      const tookMs = endedMs - startedMs;
      if (!tree && tookMs >= MIN_GAP_MS) this.#incompleteUntil.set(file.id, endedMs + GAP_FACTOR * tookMs);
      return tree;
    });
  }

  /** The whole chunks of a segment, undefined when they are not on the disk or do not have this padded root. */
  async intact(file: FileOnDisk, index: number, segmentRoot: Uint8Array): Promise<Buffer | undefined> {
    const { folder, hashing } = this.#dependencies;
    const data = await folder.readSegment(file, index).catch(() => undefined);
    const found = data && (await hashing.hasher.rootOfChunks(data, segmentLeaves(file.shape, index)));
    return found && equalBytes(found, segmentRoot) ? data : undefined;
  }

  /** The tree over the segments of a file from the stored roots, undefined when one of them is wrong. */
  async #intactTree(file: FileOnDisk): Promise<SegmentTree | undefined> {
    const known = this.#trees.get(file.id);
    if (known) return known;
    const stored = await this.#readRoots(file);
    const tree = stored && (await SegmentTree.buildInParts(this.#dependencies.hashing.keccak, stored));
    if (tree?.root !== file.root) return undefined;
    this.#trees.set(file.id, tree, tree.sizeBytes);
    return tree;
  }

  /** The tree over the segments of a file, cached once read, since every segment needs it. */
  async tree(file: FileOnDisk): Promise<SegmentTree> {
    return this.#trees.get(file.id) ?? shared(this.#reading, file.id, () => this.#readTree(file));
  }

  async #readTree(file: FileOnDisk): Promise<SegmentTree> {
    const tree = (await this.#intactTree(file)) ?? (await this.#rebuild(file));
    this.#trees.set(file.id, tree, tree.sizeBytes);
    this.#incompleteUntil.delete(file.id);
    return tree;
  }

  /** The segment roots that were stored with the bytes. A missing root is that of padding. */
  async #readRoots(file: FileOnDisk): Promise<Buffer | undefined> {
    const { folder, hashing } = this.#dependencies;
    const { shape } = file;
    const roots = await folder.readRoots(file).catch(() => undefined);
    const emptyRootOf = emptyRoots(hashing.keccak);
    for (let index = 0; roots && index < shape.paddedSegments; index++) {
      if (index % ROOTS_PER_TURN === ROOTS_PER_TURN - 1) await nextTurn();
      const at = index * HASH_BYTES;
      if (roots.subarray(at, at + HASH_BYTES).equals(NO_HASH))
        roots.set(emptyRootOf(segmentLeaves(shape, index)), at);
    }
    return roots;
  }

  /** Recomputes the segment roots from the bytes, and stores them again. */
  async #rebuild(file: FileOnDisk): Promise<SegmentTree> {
    const { folder, hashing, log } = this.#dependencies;
    const { keccak, hasher } = hashing;
    const { root, shape } = file;
    const roots = Buffer.alloc(shape.paddedSegments * HASH_BYTES);
    const emptyRootOf = emptyRoots(keccak);
    for (let index = 0; index < shape.paddedSegments; index++) {
      const leaves = segmentLeaves(shape, index);
      const isPadding = index >= shape.segments;
      const found = isPadding
        ? emptyRootOf(leaves)
        : await hasher.rootOfChunks(await this.#bytes(file, index), leaves);
      roots.set(found, index * HASH_BYTES);
    }
    const tree = await SegmentTree.buildInParts(keccak, roots);
    if (tree.root !== root)
      return this.#fail(file, undefined, new Error("neither the bytes nor the segment roots match the root"));
    log.warn({ root }, "the segment roots of a file were damaged and have been rebuilt");
    // A disk that is full or read-only can still be read: the next process that reads the file rebuilds them again.
    await folder
      .writeRoots(file, roots)
      .catch((error: unknown) =>
        log.warn({ err: error, root }, "the rebuilt segment roots of a file were not stored"),
      );
    return tree;
  }

  #bytes(file: FileOnDisk, index: number): Promise<Buffer> {
    return this.#dependencies.folder
      .readSegment(file, index)
      .catch((error: unknown) => this.#fail(file, index, error));
  }

  async #fail(file: FileOnDisk, index: number | undefined, cause: unknown): Promise<never> {
    const { log, damaged } = this.#dependencies;
    log.error({ err: cause, root: file.root, index }, "a file on the disk is damaged: upload it again");
    this.#trees.delete(file.id);
    // A file that cannot be opened for lack of file handles is not damaged.
    if (!isTransient(cause)) await damaged(file, index);
    throw new AppError("storage_unavailable", "A segment of this file cannot be read.", { cause });
  }
}

const NO_HASH = Buffer.alloc(HASH_BYTES);

/** The work of this key in progress, which is begun if there is none. */
function shared<T>(
  running: TransientMap<string, Promise<T>>,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  const known = running.get(key);
  if (known) return known;
  const begun = work().finally(() => running.delete(key));
  running.set(key, begun);
  return begun;
}

function isTransient(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "EMFILE" || code === "ENFILE" || code === "ENOMEM" || code === "EACCES";
}
