import type { PreparedTransaction } from "../../chain/transactions/prepared-transaction.ts";
import { TurnMeter } from "../../kernel/async/turn-queue.ts";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import type { FilesService } from "../files.service.ts";
import type { FlowClient } from "../flow.client.ts";
import { Keccak } from "../keccak/keccak.ts";
import { type FileTree, hashFile } from "../merkle/file-tree.ts";
import type { SegmentProof } from "../merkle/proof.ts";
import type { NodeFile, PutOutcome, StorageNode } from "../node/storage-node.ts";
import type { SubmissionNode } from "../submissions/submission.ts";
import { encodeSubmit, nodeHeights, planUpload, type SubmitAbi, type UploadPlan } from "./upload-plan.ts";

/** A segment to upload. Without `sizeBytes` the chain must already have the file. */
export type UploadSegment = {
  readonly root?: Hex | undefined;
  readonly txSeq?: bigint | undefined;
  readonly index: number;
  readonly data: Buffer;
  readonly proof: SegmentProof;
  readonly sizeBytes?: number | undefined;
};

/** The file to store: its bytes, or its size with its root or with the nodes of its tree. */
export type UploadRequest = {
  readonly content?: Buffer | undefined;
  readonly sizeBytes?: number | undefined;
  readonly root?: Hex | undefined;
  readonly nodes?: readonly SubmissionNode[] | undefined;
  readonly tags?: Hex | undefined;
  /** The sender of the transaction, who is also named as its submitter. */
  readonly from: Hex;
  readonly abi?: SubmitAbi | undefined;
  /** Whether to pay again for a file that the chain already has. */
  readonly again?: boolean | undefined;
};

/** What an upload requires: one transaction, unless the chain already has the file, then the segments. */
export type PreparedUpload = UploadPlan & {
  /** The state of the file, undefined for an unknown file. */
  readonly file: NodeFile | undefined;
  /** The price of storing it, in neuron; 0 when there is nothing to pay. */
  readonly fee: bigint;
  /** Undefined when the chain has the file, which then is not paid for again. */
  readonly transaction: PreparedTransaction | undefined;
  /** The proof of each segment, when the content was given. */
  readonly proofs: readonly SegmentProof[] | undefined;
};

type Dependencies = {
  readonly node: StorageNode;
  readonly files: FilesService;
  readonly flow: FlowClient;
  readonly chainId: number;
  readonly committed: () => void;
};

const PAID_BEFORE = "The chain already has a submission of this file: this transaction pays for another one.";

/** Accepts uploaded segments, and prepares the submission of a file. */
export class UploadsService {
  readonly #dependencies: Dependencies;
  readonly #keccak = new Keccak();
  readonly #finalized = new Set<(file: NodeFile) => void>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Calls `listener` for each file that a segment uploaded here completes. Returns a function that unsubscribes. */
  onFinalized(listener: (file: NodeFile) => void): () => void {
    this.#finalized.add(listener);
    return () => void this.#finalized.delete(listener);
  }

  /**
   * Verifies a segment and stores it. Idempotent. Throws `invalid_parameter` when it names no file, `file_not_found`,
   * `segment_refused`, and what `StorageNode.put` throws; the segment is then neither stored nor forwarded.
   */
  async put(segment: UploadSegment): Promise<PutOutcome> {
    const { node, committed } = this.#dependencies;
    const { txSeq, index, data, proof, sizeBytes } = segment;
    const root = await this.#rootOf(segment);
    const outcome = await node.put({ root, index, data, proof, sizeBytes }, txSeq);
    if (outcome.kind === "stored" && outcome.file.finalized)
      for (const listener of this.#finalized) listener(outcome.file);
    committed();
    return outcome;
  }

  /** The merkle root of a file with this content. */
  async rootOf(content: Buffer): Promise<Hex> {
    return (await this.#treeOf(content)).root;
  }

  /** The tree of a file with this content, hashed in turns of the event loop: 48 MiB take 0.2 s. */
  #treeOf(content: Buffer): Promise<FileTree> {
    const meter = new TurnMeter();
    const hasher = {
      rootOfChunks: async (data: Uint8Array, leaves: number) => {
        await meter.spend(data.length);
        return this.#keccak.rootOfChunks(data, leaves);
      },
    };
    return hashFile([content], { keccak: this.#keccak, hasher });
  }

  /**
   * Prepares an upload. There is nothing to pay for a file that the chain has, unless `again` is set. Throws
   * `invalid_parameter` for inconsistent values, `chain_error` and `storage_unavailable`.
   */
  async prepare(request: UploadRequest): Promise<PreparedUpload> {
    const { files, flow, chainId } = this.#dependencies;
    const { plan, proofs } = await this.#plan(request);
    const file = await files.ofSize(plan.root, plan.sizeBytes);
    const isPaid = file?.txSeq !== undefined && !file.pruned && !request.again;
    const fee = isPaid ? 0n : plan.sectors * (await flow.pricePerSector());
    const known = file?.txSeq === undefined ? [] : [PAID_BEFORE];
    const submission = isPaid ? undefined : await this.#submissionOf(plan, request, fee);
    const transaction = submission && {
      ...{ chainId, from: request.from, to: flow.address, data: submission.data, value: fee },
      warnings: [...known, ...submission.warnings],
    };
    return { ...plan, file, fee, transaction, proofs };
  }

  /**
   * The call of `submit` that the chain accepts: the current one, or the one before 2026 for an older Flow contract.
   * When the chain accepts neither, the current one and a warning.
   */
  async #submissionOf(plan: UploadPlan, { tags = "0x", from, abi }: UploadRequest, fee: bigint) {
    const { flow } = this.#dependencies;
    const dataOf = (version: SubmitAbi) => encodeSubmit(plan, { tags, submitter: from, abi: version });
    const data = dataOf(abi ?? "current");
    const refusal = await flow.refusalOf({ from, data, value: fee });
    if (refusal === undefined) return { data, warnings: [] };
    if (refusal === "" && abi === undefined) {
      const legacy = dataOf("legacy");
      if ((await flow.refusalOf({ from, data: legacy, value: fee })) === undefined)
        return { data: legacy, warnings: [] };
    }
    const why = refusal === "" ? "the contract has no such function" : refusal;
    return { data, warnings: [`The chain would revert this transaction now: ${why}.`] };
  }

  async #rootOf({ root, txSeq }: UploadSegment): Promise<Hex> {
    if (txSeq === undefined) {
      if (root !== undefined) return lowerHex(root);
      throw invalid("root", "Either 'root' or 'txSeq' must be provided");
    }
    const file = await this.#dependencies.files.get({ txSeq });
    if (root !== undefined && lowerHex(root) !== file.root)
      throw new AppError("segment_refused", "data root and tx seq not match", { param: "root" });
    return file.root;
  }

  async #plan(
    request: UploadRequest,
  ): Promise<{ readonly plan: UploadPlan; readonly proofs?: readonly SegmentProof[] | undefined }> {
    const { content, sizeBytes, nodes } = request;
    if (content) {
      if (content.length === 0) throw invalid("content", "A file has at least one byte.");
      const tree = await this.#treeOf(content);
      const plan = planUpload(content.length, tree.nodes);
      requireSame(plan, request);
      return { plan, proofs: Array.from({ length: plan.segments }, (_, index) => tree.proof(index)) };
    }
    if (sizeBytes === undefined) throw invalid("sizeBytes", "Send the size of the file, or its content.");
    const plan = planUpload(sizeBytes, nodes ?? (await this.#nodesOf(sizeBytes, request.root)));
    requireSame(plan, request);
    return { plan };
  }

  /** The nodes of a file by its root: the root itself if it is the only node, else those of a known submission. */
  async #nodesOf(sizeBytes: number, root: Hex | undefined): Promise<readonly SubmissionNode[]> {
    if (root === undefined) throw invalid("root", "Send the file's root, its nodes or its content.");
    const heights = nodeHeights(sizeBytes);
    const [height, ...more] = heights;
    if (height !== undefined && more.length === 0) return [{ root, height }];
    const known = await this.#dependencies.files.nodesOf(root, sizeBytes);
    if (known && known.map((node) => node.height).join() === heights.join()) return known;
    throw invalid(
      "nodes",
      `The root alone is not enough for a file of ${sizeBytes} bytes: send its nodes or content.`,
    );
  }
}

function requireSame(plan: UploadPlan, { root, sizeBytes, nodes }: UploadRequest): void {
  if (root !== undefined && lowerHex(root) !== plan.root)
    throw invalid("root", `The content or nodes are those of the file ${plan.root}, not ${root}.`);
  if (sizeBytes !== undefined && sizeBytes !== plan.sizeBytes)
    throw invalid("sizeBytes", `The content has ${plan.sizeBytes} bytes, not ${sizeBytes}.`);
  if (nodes !== undefined && JSON.stringify(nodes.map(lowered)) !== JSON.stringify(plan.nodes))
    throw invalid("nodes", "The nodes are not those of the content.");
}

function lowered({ root, height }: SubmissionNode): SubmissionNode {
  return { root: lowerHex(root), height };
}

function invalid(param: string, message: string): AppError {
  return new AppError("invalid_parameter", message, { param });
}
