import { fileFailure } from "../file-failures.ts";
import type { FileReader } from "../node/file-reader.ts";
import type { NodeFile, StorageNode } from "../node/storage-node.ts";
import type { KvFile } from "./kv-file.ts";

type Dependencies = {
  readonly node: Pick<StorageNode, "find">;
  readonly reader: Pick<FileReader, "read">;
};

/** The files of transactions, by the sequence numbers of their submissions. */
export class KvFiles {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** For each of at most 100 submissions, in order, its file if it is complete. */
  async find(txSeqs: readonly bigint[]): Promise<readonly (KvFile | undefined)[]> {
    const found = await this.#dependencies.node.find(txSeqs.map((txSeq) => ({ txSeq })));
    return found.map((file) => (file?.finalized ? this.#toKvFile(file) : undefined));
  }

  /** The file of one submission. Throws `file_not_found`, `file_pruned` and `file_not_finalized`. */
  async get(txSeq: bigint): Promise<KvFile> {
    const [file] = await this.#dependencies.node.find([{ txSeq }]);
    if (!file) throw fileFailure("file_not_found");
    if (file.pruned) throw fileFailure("file_pruned");
    if (!file.finalized) throw fileFailure("file_not_finalized");
    return this.#toKvFile(file);
  }

  #toKvFile(file: NodeFile): KvFile {
    return {
      root: file.root,
      sizeBytes: file.sizeBytes,
      read: (offset, length) => this.#dependencies.reader.read(file, { start: offset, end: offset + length }),
    };
  }
}
