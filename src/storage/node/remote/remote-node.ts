import { AppError } from "../../../kernel/errors.ts";
import { lowerHex } from "../../../kernel/text/hex.ts";
import { fileFailure } from "../../file-failures.ts";
import type { Keccak } from "../../keccak/keccak.ts";
import type { SegmentHasher } from "../../merkle/file-tree.ts";
import { proofFault } from "../../merkle/proof.ts";
import { type FileShape, segmentBytes, segmentLeaves } from "../../merkle/shape.ts";
import { checkedShape, checkSegment, refuseSegment } from "../segment-check.ts";
import type {
  FileId,
  NodeFile,
  NodeLocation,
  PutOutcome,
  Segment,
  StorageNode,
  UploadedSegment,
} from "../storage-node.ts";
import { hedged } from "./hedged.ts";
import type { KnownNode } from "./known-nodes.ts";
import { readSegment, toWire } from "./node-answers.ts";
import { NodeFailure } from "./node-rpc.client.ts";
import { RemoteFiles, type RemoteFilesDependencies } from "./remote-files.ts";
import { holds } from "./shards.ts";

type Dependencies = RemoteFilesDependencies & {
  readonly keccak: Keccak;
  readonly hasher: SegmentHasher;
  /** Receives a file of which a node has stored a segment. */
  readonly stored?: (file: NodeFile) => Promise<void>;
};

const SEGMENT_MS = 10_000;
const READ_MS = 30_000;
const WRITE_MS = 60_000;
const MIN_HEDGE_MS = 150;
const MAX_HEDGE_MS = 1_000;
/** Maximum number of attempts at nodes for one segment. */
const MAX_ATTEMPTS = 6;
const MAX_WRITING = 64;
const MAX_EARLY_BYTES = 10 * 2 ** 20;

/**
 * The network's storage nodes as one node. A segment is read from any node that has it, and from the next one when a
 * node fails or is slow; every segment is verified against the file's root before it is returned. An upload is verified
 * before it is sent to any node.
 */
export class RemoteNode implements StorageNode {
  readonly #dependencies: Dependencies;
  readonly #files: RemoteFiles;
  #writing = 0;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#files = new RemoteFiles(dependencies);
  }

  find(ids: readonly FileId[]): Promise<readonly (NodeFile | undefined)[]> {
    return this.#files.find(ids);
  }

  async put(segment: UploadedSegment, txSeq?: bigint): Promise<PutOutcome> {
    if (this.#writing >= MAX_WRITING)
      throw new AppError("unavailable", `too many data writing: ${MAX_WRITING}`, { retryAfterSeconds: 1 });
    this.#writing++;
    try {
      const outcome = await this.#put({ ...segment, root: lowerHex(segment.root) }, txSeq);
      if (outcome.kind === "stored") await this.#dependencies.stored?.(outcome.file);
      return outcome;
    } finally {
      this.#writing--;
    }
  }

  async read(file: NodeFile, index: number, signal?: AbortSignal): Promise<Buffer> {
    return (await this.readWithProof(file, index, signal)).data;
  }

  async readWithProof(file: NodeFile, index: number, signal?: AbortSignal): Promise<Segment> {
    if (!file.finalized) throw fileFailure("file_not_finalized");
    const shape = checkedShape(file.sizeBytes);
    if (!(index >= 0 && index < shape.segments)) throw new RangeError(`no segment ${index}`);
    const candidates = await this.#holdersOf(file, index);
    const fastestMs = candidates[0] ? this.#dependencies.nodes.latencyMs(candidates[0]) : 0;
    const times = {
      hedgeMs: Math.min(MAX_HEDGE_MS, Math.max(MIN_HEDGE_MS, 3 * fastestMs)),
      deadlineMs: READ_MS,
      signal,
    };
    const read = (node: KnownNode, given: AbortSignal) => this.#readFrom(node, file, shape, index, given);
    try {
      // When all have failed, each is tried once more: connections break, and nodes restart.
      return await hedged([...candidates, ...candidates].slice(0, MAX_ATTEMPTS), read, times);
    } catch (cause) {
      signal?.throwIfAborted();
      throw new AppError("storage_unavailable", "No storage node has an intact copy of this segment.", {
        cause,
      });
    }
  }

  async locations({ root }: NodeFile): Promise<readonly NodeLocation[]> {
    const { nodes } = this.#dependencies;
    return this.#files.holders(root).map((node) => ({
      url: node.url,
      shardId: node.shardId,
      numShard: node.numShard,
      latencyMs: Math.round(nodes.latencyMs(node)),
    }));
  }

  start(): void {
    this.#dependencies.nodes.refresh();
  }

  async close(): Promise<void> {
    await this.#dependencies.rpc.close();
  }

  /**
   * The nodes whose shard includes a segment: first those that reported having the file, last those that have lied, of
   * which there may be more than attempts.
   */
  async #holdersOf({ root, startEntryIndex }: NodeFile, index: number): Promise<readonly KnownNode[]> {
    const { nodes } = this.#dependencies;
    const holders = this.#files.holders(root);
    const urls = new Set(holders.map(({ url }) => url));
    const others = (await nodes.all()).filter(({ url }) => !urls.has(url));
    const isRight = (node: KnownNode) => startEntryIndex === undefined || holds(node, startEntryIndex, index);
    const right = [...nodes.ordered(holders), ...others].filter(isRight);
    const liars = new Set(right.filter((node) => nodes.hasLied(node)));
    return [...right.filter((node) => !liars.has(node)), ...liars];
  }

  #readFrom(
    node: KnownNode,
    file: NodeFile,
    shape: FileShape,
    index: number,
    signal: AbortSignal,
  ): Promise<Segment> {
    const { rpc, nodes, keccak, hasher } = this.#dependencies;
    const { root, sizeBytes, txSeq } = file;
    const [method, params] =
      txSeq === undefined
        ? ["zgs_downloadSegmentWithProof", [root, index]]
        : ["zgs_downloadSegmentWithProofByTxSeq", [Number(txSeq), index]];
    return nodes.call(node, async () => {
      const options = { timeoutMs: SEGMENT_MS, signal, isOwn: node.isOwn };
      const { data, proof } = readSegment(
        await rpc.call(node.url, method as string, params as unknown[], options),
      );
      if (data.length !== segmentBytes(shape, index))
        throw new NodeFailure("lied", `segment ${index} has ${data.length} bytes`);
      const segmentRoot = await hasher.rootOfChunks(data, segmentLeaves(shape, index));
      const fault = proofFault(keccak, { root, shape }, index, segmentRoot, proof);
      if (fault) throw new NodeFailure("lied", `segment ${index}: ${fault}`);
      return { root, index, data, proof, sizeBytes };
    });
  }

  async #put(segment: UploadedSegment, txSeq: bigint | undefined): Promise<PutOutcome> {
    const { root, sizeBytes } = segment;
    const [file] = await this.find([txSeq === undefined ? { root } : { txSeq }]);
    if (file && file.root !== root) refuseSegment("root", "data root and tx seq not match");
    if (file && sizeBytes !== undefined && sizeBytes !== file.sizeBytes)
      refuseSegment("fileSize", "segment file size not matched with tx file size");
    const size = file?.sizeBytes ?? sizeBytes;
    if (size === undefined || (!file && txSeq !== undefined)) throw fileFailure("file_not_found");
    if (!file && size > MAX_EARLY_BYTES)
      throw new AppError("file_too_large", "caching of large file when tx is unavailable is not supported", {
        param: "fileSize",
      });
    const shape = checkedShape(size);
    await checkSegment(segment, shape, this.#dependencies);
    if (file?.finalized) return { kind: "finalized", file };
    const early = file ?? earlyFile(segment, shape);
    const kind = await this.#push(segment, early);
    const [after] = await this.find([txSeq === undefined ? { root } : { txSeq }]);
    return { kind, file: after ?? early };
  }

  /** Uploads a segment to one node that holds its shard, or to the next one when that fails. */
  async #push(segment: UploadedSegment, file: NodeFile): Promise<PutOutcome["kind"]> {
    const { nodes } = this.#dependencies;
    const right = (await this.#holdersOf(file, segment.index)).filter(({ isTrusted }) => isTrusted);
    const push = (node: KnownNode, signal: AbortSignal) =>
      nodes.call(node, () => this.#pushTo(node, segment, file, signal));
    try {
      // Two nodes may accept it at once, which is harmless.
      return await hedged(right.slice(0, MAX_ATTEMPTS), push, { hedgeMs: SEGMENT_MS, deadlineMs: WRITE_MS });
    } catch (cause) {
      if (cause instanceof NodeFailure && cause.message.includes("too many data writing"))
        throw new AppError("unavailable", cause.message, { cause, retryAfterSeconds: 1 });
      throw new AppError("storage_unavailable", "No storage node accepted this segment.", { cause });
    }
  }

  async #pushTo(
    node: KnownNode,
    segment: UploadedSegment,
    { txSeq, sizeBytes }: NodeFile,
    signal: AbortSignal,
  ): Promise<PutOutcome["kind"]> {
    const wire = [toWire(segment, sizeBytes)];
    const [method, params] =
      txSeq === undefined
        ? ["zgs_uploadSegments", [wire]]
        : ["zgs_uploadSegmentsByTxSeq", [wire, Number(txSeq)]];
    try {
      const options = { timeoutMs: SEGMENT_MS, signal, isOwn: node.isOwn };
      await this.#dependencies.rpc.call(node.url, method as string, params as unknown[], options);
      return "stored";
    } catch (error) {
      if (!(error instanceof NodeFailure) || error.kind !== "refused") throw error;
      if (error.message.includes("already uploaded and finalized")) return "duplicate";
      if (error.message.includes("segment has already been uploaded or is being uploaded"))
        return "duplicate";
      throw error;
    }
  }
}

function earlyFile({ root }: UploadedSegment, { sizeBytes, segments }: FileShape): NodeFile {
  return {
    root,
    sizeBytes,
    segments,
    txSeq: undefined,
    startEntryIndex: undefined,
    uploadedSegments: 0,
    finalized: false,
    isCached: true,
    pruned: false,
  };
}
