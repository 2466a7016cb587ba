import { join } from "node:path";
import type { Hex } from "../../../kernel/text/hex.ts";
import { HASH_BYTES } from "../../keccak/keccak.ts";
import { type FileShape, SEGMENT_BYTES, segmentBytes } from "../../merkle/shape.ts";
import { DiskFiles } from "./disk-files.ts";

/** A file in the folder of a node. `id` is part of its file name. */
export type FileOnDisk = { readonly id: string; readonly root: Hex; readonly shape: FileShape };

type Named = Pick<FileOnDisk, "id" | "root">;

/**
 * The folder of a storage node: of each file its bytes and, when it has several segments, its segment roots. Several
 * processes may share it, as they share the database. Writes are flushed when they resolve.
 */
export class DiskFolder {
  readonly #path: string;
  readonly #files = new DiskFiles();

  constructor(path: string) {
    this.#path = path;
  }

  /** Writes the bytes and the root of a segment. `created` is awaited before a missing file is created. */
  async writeSegment(
    file: FileOnDisk,
    index: number,
    { data, segmentRoot }: { readonly data: Uint8Array; readonly segmentRoot: Uint8Array },
    created?: () => Promise<void>,
  ): Promise<void> {
    const writes = [this.#files.write(this.#dataPath(file), index * SEGMENT_BYTES, data, created)];
    if (file.shape.paddedSegments > 1)
      writes.push(this.#files.write(this.#rootsPath(file), index * HASH_BYTES, segmentRoot));
    await Promise.all(writes);
  }

  /** The whole chunks of a segment, zeros where they were not written. Throws when the file does not exist. */
  readSegment(file: FileOnDisk, index: number): Promise<Buffer> {
    return this.#files.read(this.#dataPath(file), index * SEGMENT_BYTES, segmentBytes(file.shape, index));
  }

  /** The segment roots, 32 bytes each, zeros where none was written. Throws when there are none. */
  readRoots(file: FileOnDisk): Promise<Buffer> {
    return this.#files.read(this.#rootsPath(file), 0, file.shape.paddedSegments * HASH_BYTES);
  }

  writeRoots(file: FileOnDisk, roots: Buffer): Promise<void> {
    return this.#files.write(this.#rootsPath(file), 0, roots);
  }

  /** The size of a file's bytes, 0 when there are none. */
  sizeOf(file: Named): Promise<number> {
    return this.#files.sizeOf(this.#dataPath(file));
  }

  /** Deletes a file, if it exists. */
  async remove(file: Named): Promise<void> {
    await Promise.all([this.#files.remove(this.#dataPath(file)), this.#files.remove(this.#rootsPath(file))]);
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  /** The id makes the name unique when a deleted root is uploaded again. */
  #dataPath({ id, root }: Named): string {
    const shelf = (BigInt(id) % 256n).toString(16).padStart(2, "0");
    return join(this.#path, shelf, `${root.slice(2)}-${id}`);
  }

  #rootsPath(file: Named): string {
    return `${this.#dataPath(file)}.roots`;
  }
}
