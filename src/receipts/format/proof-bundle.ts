import { sha256 } from "@noble/hashes/sha2.js";
import { hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { type Checkpoint, type NoteKey, openCheckpoint } from "./checkpoint.ts";
import { verifyInclusion } from "./merkle-log.ts";
import {
  commitment,
  type Receipt,
  readHex,
  receiptBytes,
  receiptLeafHash,
  verifyReceipt,
} from "./receipt.ts";

/** Where a receipt is in the log, with the proof and the signed head that it leads to. */
export type ReceiptLogProof = {
  readonly leaf_index: number;
  readonly tree_size: number;
  /** Hashes from the leaf to the root, hexadecimal. */
  readonly inclusion_proof: readonly string[];
  /** The head as a C2SP signed note. */
  readonly checkpoint: string;
};

/** The provider's signature of its answer. */
export type ProviderSignature = {
  readonly text: string;
  readonly signature: string;
  readonly signing_address: string | null;
};

/** Everything that is needed to verify a receipt offline. */
export type ReceiptBundle = {
  readonly receipt: Receipt;
  /** Ed25519 over the receipt's canonical JSON, hexadecimal. */
  readonly signature: string;
  readonly key_id: string;
  readonly log: ReceiptLogProof;
  /** The router's key as a C2SP vkey. A verifier compares it with the one that it knows. */
  readonly public_key: string;
  readonly provider_signature: ProviderSignature | null;
};

/** What a check of a bundle found. `checkpoint` is the signed head, undefined if it is not signed by the key. */
export type BundleVerdict = {
  readonly isSigned: boolean;
  readonly isIncluded: boolean;
  readonly checkpoint: Checkpoint | undefined;
};

/**
 * Checks the router's signature of a receipt, that of the head, and the path between them, with a key that the caller
 * trusts. The bundle is untrusted: whatever is malformed fails its check. Throws nothing.
 */
export function verifyBundle(bundle: ReceiptBundle, key: NoteKey): BundleVerdict {
  try {
    const { receipt, signature, log } = bundle;
    const checkpoint = openCheckpoint(log.checkpoint, key);
    const isSigned = verifyReceipt(receipt, signature, key);
    return { isSigned, isIncluded: checkpoint !== undefined && isIncluded(bundle, checkpoint), checkpoint };
  } catch {
    return { isSigned: false, isIncluded: false, checkpoint: undefined };
  }
}

/** Whether a receipt states this signature of the provider: one that was fetched later proves nothing of the receipt. */
export function statesSignature(
  { salt, evidence }: Receipt,
  { text, signing_address: signer }: ProviderSignature,
): boolean {
  if (!evidence || evidence.signer !== signer) return false;
  return evidence.text === commitment(hexToBytes(salt), sha256(utf8ToBytes(text)));
}

function isIncluded({ receipt, log }: ReceiptBundle, { size, root }: Checkpoint): boolean {
  const proof = log.inclusion_proof.map(readHex);
  if (log.tree_size !== size || !proof.every((hash) => hash !== undefined)) return false;
  const leaf = receiptLeafHash(receiptBytes(receipt));
  return verifyInclusion({ leaf, index: log.leaf_index, size, proof, root });
}
