import QuickLRU from "quick-lru";
import type { Queries } from "../../../db/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../../merkle/shape.ts";
import { findHeld } from "../held/held-files.store.ts";
import type { FileId, NodeFile } from "../storage-node.ts";
import type { KnownNode, KnownNodes } from "./known-nodes.ts";
import { type FileInfoAnswer, readFileInfo } from "./node-answers.ts";
import type { NodeRpc } from "./node-rpc.client.ts";
import { selectNodes } from "./shards.ts";

export type RemoteFilesDependencies = {
  /** The submissions stored by the chain watcher, which take precedence over what a node reports. */
  readonly queries: Queries;
  readonly chainId: number;
  readonly rpc: NodeRpc;
  readonly nodes: KnownNodes;
};

const INFO_MS = 5_000;
/** Maximum number of nodes queried about one file. */
const MAX_QUERIED = 12;
const KNOWN_FILES = 4_096;
const KNOWN_MS = 5_000;
const HOLDERS_MS = 300_000;
const LOCATED_MS = 15_000;

/** Merges what the network's storage nodes report about files, and tracks which nodes have a file. */
export class RemoteFiles {
  readonly #dependencies: RemoteFilesDependencies;
  readonly #finalized = new QuickLRU<string, NodeFile>({ maxSize: KNOWN_FILES, maxAge: KNOWN_MS });
  readonly #holders = new QuickLRU<string, readonly KnownNode[]>({
    maxSize: KNOWN_FILES,
    maxAge: HOLDERS_MS,
  });
  /** The locations of files that indexers recently named. */
  readonly #located = new QuickLRU<string, readonly KnownNode[]>({
    maxSize: KNOWN_FILES,
    maxAge: LOCATED_MS,
  });

  constructor(dependencies: RemoteFilesDependencies) {
    this.#dependencies = dependencies;
  }

  /** For each id, in order, its file. Throws `storage_unavailable` when no node answers. */
  async find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]> {
    const { queries, chainId } = this.#dependencies;
    const wanted = ids.map((id) => ("root" in id ? { root: lowerHex(id.root) } : id));
    const onChain = await findHeld(queries, chainId, wanted);
    return Promise.all(wanted.map((id, at) => this.#find(id, onChain[at])));
  }

  /** The nodes that recently reported having this file in full. Some may be known only as its locations. */
  holders(root: string): readonly KnownNode[] {
    return this.#holders.get(root) ?? [];
  }

  async #find(id: FileId, onChain: NodeFile | undefined): Promise<NodeFile | undefined> {
    const key = "root" in id ? id.root : id.txSeq.toString();
    const known = this.#finalized.get(key);
    // After a reorg, another file may have the sequence number.
    if (known && (onChain === undefined || onChain.root === known.root)) return known;
    const submitted = onChain?.txSeq === undefined ? undefined : onChain;
    const file = await this.#query(id, submitted);
    if (file?.finalized) this.#finalized.set(key, file);
    return file;
  }

  /** Queries trusted nodes; when they do not have the whole file, also the nodes where indexers locate it. */
  async #query(id: FileId, onChain: NodeFile | undefined): Promise<NodeFile | undefined> {
    const all = await this.#dependencies.nodes.all();
    const trusted = all.filter(({ isTrusted }) => isTrusted);
    const queried = (trusted.length > 0 ? trusted : all).slice(0, MAX_QUERIED);
    const answers = await this.#queryNodes(queried, id);
    const file = this.#merge(await this.#credible(answers, id, onChain), onChain);
    const located = file && !file.finalized ? await this.#locate(file.root, queried) : [];
    const more = await this.#queryNodes(located, { txSeq: file?.txSeq ?? 0n });
    if (answers.length + more.length === 0)
      throw new AppError("storage_unavailable", "No storage node answers at the moment.", {
        retryAfterSeconds: 5,
      });
    return more.length > 0 ? this.#merge(await this.#credible([...answers, ...more], id, file), file) : file;
  }

  /** The nodes where indexers locate a file, besides those that were queried. Indexers are not queried again for 15 s. */
  async #locate(root: Hex, queried: readonly KnownNode[]): Promise<readonly KnownNode[]> {
    const urls = new Set(queried.map(({ url }) => url));
    const located = this.#located.get(root) ?? (await this.#dependencies.nodes.locate(root));
    this.#located.set(root, located);
    return located.filter(({ url }) => !urls.has(url)).slice(0, MAX_QUERIED);
  }

  async #queryNodes(targets: readonly KnownNode[], id: FileId): Promise<readonly NodeAnswer[]> {
    const answers = await Promise.all(
      targets.map(async (node): Promise<readonly NodeAnswer[]> => {
        const file = await this.#queryNode(node, id).catch(() => "failed" as const);
        return file === "failed" ? [] : [{ node, file }];
      }),
    );
    return answers.flat();
  }

  /** The answers about the requested file that do not contradict the chain as far as it has been read. */
  async #credible(
    answers: readonly NodeAnswer[],
    id: FileId,
    onChain: NodeFile | undefined,
  ): Promise<readonly FileAnswer[]> {
    const { queries, chainId } = this.#dependencies;
    const matching = answers.flatMap(({ node, file }) =>
      file && ("root" in id ? file.root === id.root : file.txSeq === id.txSeq) ? [{ node, file }] : [],
    );
    const others = [...new Set(matching.map(({ file }) => file.txSeq))].filter(
      (seq) => seq !== onChain?.txSeq,
    );
    const rows =
      others.length > 0
        ? await findHeld(
            queries,
            chainId,
            others.map((txSeq) => ({ txSeq })),
          )
        : [];
    const known = [onChain, ...rows].flatMap((row) => (row ? [row] : []));
    return matching.filter(({ node, file }) => {
      const row = known.find(({ txSeq }) => txSeq === file.txSeq);
      return row ? row.root === file.root && row.sizeBytes === file.sizeBytes : node.isTrusted;
    });
  }

  async #queryNode(node: KnownNode, id: FileId): Promise<FileInfoAnswer | undefined> {
    const { rpc, nodes } = this.#dependencies;
    const [method, params] =
      "root" in id ? ["zgs_getFileInfo", [id.root, true]] : ["zgs_getFileInfoByTxSeq", [Number(id.txSeq)]];
    return nodes.call(node, async () =>
      readFileInfo(
        await rpc.call(node.url, method as string, params as unknown[], { ...node, timeoutMs: INFO_MS }),
      ),
    );
  }

  /**
   * Merges answers: the finalized submission, else the chain's. A file is finalized when the nodes that have it in full
   * cover every shard.
   */
  #merge(answers: readonly FileAnswer[], onChain: NodeFile | undefined): NodeFile | undefined {
    const completeOf = (sizeBytes: number) =>
      answers.filter(({ file }) => file.finalized && file.sizeBytes === sizeBytes).map(({ node }) => node);
    const isCovered = ({ file }: FileAnswer) => selectNodes(completeOf(file.sizeBytes), 1) !== undefined;
    const first = answers.find(isCovered)?.file ?? onChain ?? answers[0]?.file;
    if (!first || first.txSeq === undefined) return undefined;
    const { root, sizeBytes, txSeq, startEntryIndex } = first;
    const complete = completeOf(sizeBytes);
    const finalized = selectNodes(complete, 1) !== undefined;
    if (complete.length > 0) this.#holders.set(root, complete);
    const alike = answers.filter(({ file }) => file.sizeBytes === sizeBytes).map(({ file }) => file);
    const segments = Math.ceil(sizeBytes / SEGMENT_BYTES);
    const uploaded = Math.max(0, ...alike.map(({ uploadedSegments }) => uploadedSegments));
    return {
      root,
      sizeBytes,
      txSeq,
      startEntryIndex,
      segments,
      uploadedSegments: finalized ? segments : Math.min(uploaded, segments),
      finalized,
      isCached: !finalized && alike.some(({ isCached }) => isCached),
      pruned: !finalized && alike.length > 0 && alike.every(({ pruned }) => pruned),
    };
  }
}

type NodeAnswer = { readonly node: KnownNode; readonly file: FileInfoAnswer | undefined };
type FileAnswer = { readonly node: KnownNode; readonly file: FileInfoAnswer };
