import { bytesToHex } from "@noble/hashes/utils.js";
import type { Queries } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import type { Reach } from "../keys/auth/permissions.ts";
import { ClientExchange } from "./client-exchange.ts";
import { checkpointText, type NoteKey, parseCheckpoint, signNote } from "./format/checkpoint.ts";
import {
  buildProof,
  completingLeaf,
  type LogNode,
  type ProofPlan,
  planConsistency,
  planInclusion,
} from "./format/merkle-log.ts";
import {
  type ProviderSignature,
  type ReceiptBundle,
  type ReceiptLogProof,
  statesSignature,
} from "./format/proof-bundle.ts";
import { type Receipt, receiptBytes, receiptLeafHash } from "./format/receipt.ts";
import type { ReceiptKey } from "./receipt-key.ts";
import {
  isExpected,
  readCheckpoint,
  readNodes,
  readReceipts,
  type StoredCheckpoint,
  type StoredReceipt,
} from "./receipts.store.ts";
import type { ReturnedHashes } from "./returned-hashes.ts";

/** A receipt with the router's signature, and its proof, once it is under a signed head. */
export type SignedReceipt = Omit<ReceiptBundle, "log" | "provider_signature"> & {
  readonly log: ReceiptLogProof | undefined;
};

/** What proves that the newest signed head continues a smaller one. Hashes are hexadecimal. */
export type ConsistencyProof = {
  readonly from: number;
  readonly size: number;
  readonly hashes: readonly string[];
  readonly checkpoint: string;
};

type Dependencies = {
  readonly queries: Queries;
  readonly key: ReceiptKey;
  readonly returned: ReturnedHashes;
  /** The provider's signature of the answer to a request; undefined if it was not fetched. */
  readonly signatureOf: (account: string, requestId: string) => Promise<ProviderSignature | undefined>;
  /** How long a receipt takes to be under a signed head, seconds. */
  readonly retryAfterSeconds: number;
};

/** Receipts of requests, and the log that they are leaves of. */
export class ReceiptsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The router's public key. */
  get key(): NoteKey & Pick<ReceiptKey, "keyId" | "verifierKey"> {
    return this.#dependencies.key;
  }

  /** Begins to hash the bytes of a request with this body, which took so long to be authenticated and received. */
  begin(endpoint: string, body: Buffer, receivedMs: number): ClientExchange {
    return new ClientExchange(endpoint, body, receivedMs, this.#dependencies.returned);
  }

  /**
   * The receipt of a request with all that proves it. Throws `receipt_not_found` for a request that has none or is not within
   * reach, and `receipt_pending` until it is under a signed head.
   */
  async bundle(reach: Reach, requestId: string): Promise<ReceiptBundle> {
    const { queries, signatureOf } = this.#dependencies;
    const [signed] = await this.byRequests(reach, [requestId]);
    if (signed?.log) {
      const { receipt, log } = signed;
      const signature = await signatureOf(receipt.account, requestId);
      const isStated = signature !== undefined && statesSignature(receipt, signature);
      return { ...signed, log, provider_signature: isStated ? signature : null };
    }
    if (signed || (await isExpected(queries, reach, requestId))) throw this.#pending();
    throw new AppError("receipt_not_found", "There is no receipt for this request.");
  }

  /**
   * The receipts of these requests, in order; undefined for one that has none yet or is not within reach. A receipt that
   * is not the one in the log is not signed: throws an error then.
   */
  async byRequests(
    reach: Reach,
    requestIds: readonly string[],
  ): Promise<readonly (SignedReceipt | undefined)[]> {
    const { queries } = this.#dependencies;
    const stored = await readReceipts(queries, reach, requestIds);
    const checkpoint = stored.length > 0 ? await this.head() : undefined;
    const plans = new Map<string, ProofPlan>();
    for (const { requestId, leafIndex } of stored)
      if (checkpoint && leafIndex < checkpoint.size)
        plans.set(requestId, planInclusion(leafIndex, checkpoint.size));
    const hashOf = await this.#hashesFor([...plans.values()]);
    const signed = new Map(
      stored.map((one) => {
        const plan = plans.get(one.requestId);
        const log = plan && checkpoint && toLogProof(one, checkpoint, buildProof(plan, hashOf));
        return [one.requestId, this.#sign(one, log)];
      }),
    );
    return requestIds.map((id) => signed.get(id));
  }

  /**
   * The newest signed head of the log, a C2SP checkpoint; undefined before the first. It is signed with the key of this
   * process, as receipts are: a process with another `RECEIPT_KEY` may have stored it.
   */
  async head(): Promise<StoredCheckpoint | undefined> {
    const { queries, key } = this.#dependencies;
    const stored = await readCheckpoint(queries);
    return stored && { ...stored, note: signedBy(key, stored.note) };
  }

  /** What proves that the newest signed head continues a log of `from` leaves. Throws `invalid_parameter`. */
  async consistency(from: number): Promise<ConsistencyProof> {
    const head = await this.head();
    if (!head || !Number.isSafeInteger(from) || from < 0 || from > head.size)
      throw new AppError(
        "invalid_parameter",
        `There is no such signed head: the newest has ${head?.size ?? 0} receipts.`,
        { param: "from" },
      );
    const plan = planConsistency(from, head.size);
    const hashes = buildProof(plan, await this.#hashesFor([plan]));
    return { from, size: head.size, hashes: hashes.map(bytesToHex), checkpoint: head.note };
  }

  #pending(): AppError {
    const { retryAfterSeconds } = this.#dependencies;
    return new AppError("receipt_pending", "No signed head of the log covers this receipt yet.", {
      retryAfterSeconds,
    });
  }

  /** A signature is deterministic, so it is made when it is read: made for every request, it would take 44 us of each. */
  #sign({ body, requestId, nodes }: StoredReceipt, log: ReceiptLogProof | undefined): SignedReceipt {
    const { key } = this.#dependencies;
    const receipt = JSON.parse(body) as Receipt;
    const bytes = receiptBytes(receipt);
    if (!nodes[0] || !Buffer.from(receiptLeafHash(bytes)).equals(nodes[0]))
      throw new Error(`the receipt of ${requestId} is not the one in the log`);
    return {
      receipt,
      signature: bytesToHex(Uint8Array.from(key.sign(bytes))),
      key_id: key.keyId,
      public_key: key.verifierKey,
      log,
    };
  }

  /** Reads the hashes that proofs are built from. */
  async #hashesFor(plans: readonly ProofPlan[]): Promise<(node: LogNode) => Uint8Array> {
    const leaves = new Set(plans.flat(2).map(completingLeaf));
    const nodes = await readNodes(this.#dependencies.queries, [...leaves]);
    return (node) => {
      const hash = nodes.get(completingLeaf(node))?.[node.level];
      if (!hash) throw new Error(`the log lacks the node ${node.level}/${node.index}`);
      return hash;
    };
  }
}

/** This head as a note of the key: the same one, or its size and root signed again as the head of the key's own log. */
function signedBy(key: ReceiptKey, note: string): string {
  const head = parseCheckpoint(note);
  if (!head) throw new Error("the stored head of the log is malformed");
  if (head.origin === key.name) return note;
  return signNote(checkpointText({ ...head, origin: key.name }), key, key.sign);
}

function toLogProof(
  { leafIndex }: StoredReceipt,
  { size, note }: StoredCheckpoint,
  proof: readonly Uint8Array[],
): ReceiptLogProof {
  return {
    leaf_index: leafIndex,
    tree_size: size,
    inclusion_proof: proof.map(bytesToHex),
    checkpoint: note,
  };
}
