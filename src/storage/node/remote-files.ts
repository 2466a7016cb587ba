import QuickLRU from "quick-lru";
import type { Queries } from "../../db/database.ts";
import { AppError } from "../../kernel/errors.ts";
import { lowerHex } from "../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../merkle/shape.ts";
import { findHeld } from "./held-files.store.ts";
import type { KnownNode, KnownNodes } from "./known-nodes.ts";
import { type FileInfoAnswer, readFileInfo } from "./node-answers.ts";
import type { NodeRpc } from "./node-rpc.client.ts";
import { selectNodes } from "./shards.ts";
import type { FileId, NodeFile } from "./storage-node.ts";

export type RemoteFilesDependencies = {
  /** What the chain's watcher has of submissions; its word on a file counts before a node's. */
  readonly queries: Queries;
  readonly chainId: number;
  readonly rpc: NodeRpc;
  readonly nodes: KnownNodes;
};

const INFO_MS = 5_000;
/** Nodes that are asked of one file at the most. */
const MAX_ASKED = 12;
const KNOWN_FILES = 4_096;
const KNOWN_MS = 5_000;
const HOLDERS_MS = 300_000;
const LOCATED_MS = 15_000;

/** What the network's storage nodes know of files, made one answer, and which of them have a file. */
export class RemoteFiles {
  readonly #dependencies: RemoteFilesDependencies;
  readonly #finalized = new QuickLRU<string, NodeFile>({ maxSize: KNOWN_FILES, maxAge: KNOWN_MS });
  readonly #holders = new QuickLRU<string, ReadonlySet<string>>({ maxSize: KNOWN_FILES, maxAge: HOLDERS_MS });
  /** Files that indexers were asked for lately. */
  readonly #located = new QuickLRU<string, true>({ maxSize: KNOWN_FILES, maxAge: LOCATED_MS });

  constructor(dependencies: RemoteFilesDependencies) {
    this.#dependencies = dependencies;
  }

  /** For each id, in their order, its file. Throws `storage_unavailable` when no node answers. */
  async find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]> {
    const { queries, chainId } = this.#dependencies;
    const wanted = ids.map((id) => ("root" in id ? { root: lowerHex(id.root) } : id));
    const onChain = await findHeld(queries, chainId, wanted);
    return Promise.all(wanted.map((id, at) => this.#find(id, onChain[at])));
  }

  /** The nodes that said lately that they have this file in full. */
  holders(root: string): ReadonlySet<string> | undefined {
    return this.#holders.get(root);
  }

  async #find(id: FileId, onChain: NodeFile | undefined): Promise<NodeFile | undefined> {
    const key = "root" in id ? id.root : id.txSeq.toString();
    const known = this.#finalized.get(key);
    if (known) return known;
    const submitted = onChain?.txSeq === undefined ? undefined : onChain;
    const file = await this.#ask(id, submitted);
    if (file?.finalized) this.#finalized.set(key, file);
    return file;
  }

  /** Asks trusted nodes; where they have not all of it, also those that indexers know to have it. */
  async #ask(id: FileId, onChain: NodeFile | undefined): Promise<NodeFile | undefined> {
    const { nodes } = this.#dependencies;
    const all = await nodes.all();
    const trusted = all.filter(({ isTrusted }) => isTrusted).slice(0, MAX_ASKED);
    const heard = await this.#hear(trusted.length > 0 ? trusted : all.slice(0, MAX_ASKED), id);
    if (heard.length === 0)
      throw new AppError("storage_unavailable", "No storage node answers now.", { retryAfterSeconds: 5 });
    const file = this.#merge(await this.#believed(heard, id, onChain), onChain);
    if (!file || file.finalized || this.#located.has(file.root)) return file;
    this.#located.set(file.root, true);
    const asked = new Set(trusted.map(({ url }) => url));
    const located = (await nodes.locate(file.root)).filter(({ url }) => !asked.has(url));
    if (located.length === 0) return file;
    const more = await this.#hear(located.slice(0, MAX_ASKED), { txSeq: file.txSeq ?? 0n });
    return this.#merge(await this.#believed([...heard, ...more], id, file), file);
  }

  async #hear(asked: readonly KnownNode[], id: FileId): Promise<readonly Heard[]> {
    const answers = await Promise.all(
      asked.map(async (node): Promise<readonly Heard[]> => {
        const told = await this.#askOne(node, id).catch(() => "failed" as const);
        return told === "failed" ? [] : [{ node, told }];
      }),
    );
    return answers.flat();
  }

  /** What was told of the file that was asked for, and does not contradict the chain as far as it was read. */
  async #believed(
    heard: readonly Heard[],
    id: FileId,
    onChain: NodeFile | undefined,
  ): Promise<readonly Telling[]> {
    const { queries, chainId } = this.#dependencies;
    const telling = heard.flatMap(({ node, told }) =>
      told && ("root" in id ? told.root === id.root : told.txSeq === id.txSeq) ? [{ node, told }] : [],
    );
    const others = [...new Set(telling.map(({ told }) => told.txSeq))].filter(
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
    return telling.filter(({ node, told }) => {
      const row = known.find(({ txSeq }) => txSeq === told.txSeq);
      return row ? row.root === told.root && row.sizeBytes === told.sizeBytes : node.isTrusted;
    });
  }

  async #askOne(node: KnownNode, id: FileId): Promise<FileInfoAnswer | undefined> {
    const { rpc, nodes } = this.#dependencies;
    const [method, params] =
      "root" in id ? ["zgs_getFileInfo", [id.root, true]] : ["zgs_getFileInfoByTxSeq", [Number(id.txSeq)]];
    return nodes.asking(node, async () =>
      readFileInfo(
        await rpc.call(node.url, method as string, params as unknown[], { ...node, timeoutMs: INFO_MS }),
      ),
    );
  }

  /**
   * One answer out of many: the submission that is finalized, else the chain's. A file is finalized when the nodes that
   * have it in full cover every shard.
   */
  #merge(telling: readonly Telling[], onChain: NodeFile | undefined): NodeFile | undefined {
    const completeOf = (sizeBytes: number) =>
      telling.filter(({ told }) => told.finalized && told.sizeBytes === sizeBytes).map(({ node }) => node);
    const isCovered = ({ told }: Telling) => selectNodes(completeOf(told.sizeBytes), 1) !== undefined;
    const first = telling.find(isCovered)?.told ?? onChain ?? telling[0]?.told;
    if (!first || first.txSeq === undefined) return undefined;
    const { root, sizeBytes, txSeq, startEntryIndex } = first;
    const complete = completeOf(sizeBytes);
    const finalized = selectNodes(complete, 1) !== undefined;
    if (complete.length > 0) this.#holders.set(root, new Set(complete.map(({ url }) => url)));
    const alike = telling.filter(({ told }) => told.sizeBytes === sizeBytes).map(({ told }) => told);
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

type Heard = { readonly node: KnownNode; readonly told: FileInfoAnswer | undefined };
type Telling = { readonly node: KnownNode; readonly told: FileInfoAnswer };
