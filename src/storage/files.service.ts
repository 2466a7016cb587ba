import type { Hex } from "../kernel/text/hex.ts";
import { fileFailure } from "./file-failures.ts";
import type { FileId, NodeFile, NodeLocation, StorageNode } from "./node/storage-node.ts";
import type { SubmissionNode } from "./submissions/submission.ts";
import type { SubmissionsService, SubmittedFile } from "./submissions/submissions.service.ts";

/** A file that the chain has: a node's information about it, with its submission. */
export type ChainFile = NodeFile & { readonly txSeq: bigint; readonly startEntryIndex: bigint };

type Dependencies = {
  readonly node: StorageNode;
  readonly submissions: SubmissionsService;
};

/** The limit of one `StorageNode.find` call. */
const FIND_BATCH = 100;

/** Files of the storage network, as the chain and the nodes know them. */
export class FilesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** For each root, in order, the file that was submitted under it, or undefined. Queries no node. */
  byRoots(roots: readonly Hex[]): Promise<readonly (SubmittedFile | undefined)[]> {
    return this.#dependencies.submissions.filesByRoots(roots);
  }

  /** Like `byRoots` for the file of one submission. */
  async byTxSeq(txSeq: bigint): Promise<SubmittedFile | undefined> {
    const submission = await this.#dependencies.submissions.find(txSeq);
    return submission && (await this.byRoots([submission.root]))[0];
  }

  /** For each id, in order, its file, or undefined when the chain has none. Throws `storage_unavailable`. */
  async find(ids: readonly FileId[]): Promise<readonly (ChainFile | undefined)[]> {
    const found: (NodeFile | undefined)[] = [];
    for (let from = 0; from < ids.length; from += FIND_BATCH)
      found.push(...(await this.#dependencies.node.find(ids.slice(from, from + FIND_BATCH))));
    return found.map((file) => (file && isOnChain(file) ? file : undefined));
  }

  /** One file. Throws `file_not_found`. */
  async get(id: FileId): Promise<ChainFile> {
    const [file] = await this.find([id]);
    return requireKnown(file);
  }

  /** One file that is at least partly readable. Throws `file_not_found`, `file_pruned` and `file_not_finalized`. */
  async readableInPart(id: FileId): Promise<ChainFile> {
    const file = await this.get(id);
    return file.uploadedSegments > 0 && !file.pruned ? file : requireReadable(file);
  }

  /** One file that is fully readable. Throws `file_not_found`, `file_pruned` and `file_not_finalized`. */
  async readable(id: FileId): Promise<ChainFile> {
    return requireReadable(await this.get(id));
  }

  /** Like `readable` for many files, in order; a single unreadable file fails the call. */
  async allReadable(ids: readonly FileId[]): Promise<readonly ChainFile[]> {
    return (await this.find(ids)).map((file) => requireReadable(requireKnown(file)));
  }

  /**
   * The file of a root with this size: files that differ only in zeros at their end may share a root, and a submission
   * may state a false size. Undefined if neither the chain nor a node has it. Throws `storage_unavailable`.
   */
  async ofSize(root: Hex, sizeBytes: number): Promise<NodeFile | undefined> {
    const { node, submissions } = this.#dependencies;
    const txSeq = await submissions.ofSize(root, sizeBytes);
    const [file] = await node.find([txSeq === undefined ? { root } : { txSeq }]);
    return file?.sizeBytes === sizeBytes ? file : undefined;
  }

  /**
   * The nodes of the submission of a root with this size, else those of its first submission, which may state another
   * size; undefined when the chain has none.
   */
  async nodesOf(root: Hex, sizeBytes: number): Promise<readonly SubmissionNode[] | undefined> {
    const { submissions } = this.#dependencies;
    const txSeq = (await submissions.ofSize(root, sizeBytes)) ?? (await this.byRoots([root]))[0]?.firstTxSeq;
    return txSeq === undefined ? undefined : (await submissions.find(txSeq))?.nodes;
  }

  /** Which nodes hold a file. */
  locations(file: NodeFile): Promise<readonly NodeLocation[]> {
    return this.#dependencies.node.locations(file);
  }
}

function requireKnown(file: ChainFile | undefined): ChainFile {
  if (file) return file;
  throw fileFailure("file_not_found");
}

function requireReadable(file: ChainFile): ChainFile {
  if (file.pruned) throw fileFailure("file_pruned");
  if (!file.finalized) throw fileFailure("file_not_finalized");
  return file;
}

function isOnChain(file: NodeFile): file is ChainFile {
  return file.txSeq !== undefined && file.startEntryIndex !== undefined;
}
