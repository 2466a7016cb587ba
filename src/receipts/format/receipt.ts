import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { canonicalJson } from "./canonical-json.ts";
import { type NoteKey, verifySignature } from "./checkpoint.ts";
import { leafHash } from "./merkle-log.ts";

/** The version that a receipt of this format states. */
export const RECEIPT_VERSION = "zerograph-receipt/v1";

/** The size of a salt and of a hash. */
export const HASH_BYTES = 32;

/**
 * The bytes of a request at four places, each as `commitment(salt, SHA-256 of the bytes)`: the body that the client
 * sent, the body that the provider was sent, the body that the provider answered, and the body that the client was
 * sent. Null where there is none, or where the process that had them ended early.
 */
export type ReceiptHashes = {
  readonly received: string | null;
  readonly forwarded: string | null;
  readonly answered: string | null;
  readonly returned: string | null;
};

/** What was billed. Tokens are null for what is not counted in tokens, `units` for what is. */
export type ReceiptUsage = {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_tokens: number;
  readonly cache_write_tokens: number;
  readonly cache_write_1h_tokens: number;
  readonly units: number | null;
  readonly estimated: boolean;
};

/** The check of the provider's signature. `text` is the signed text as a commitment, null if there is none. */
export type ReceiptEvidence = {
  readonly verdict: string;
  readonly form: string | null;
  readonly request_bound: boolean | null;
  readonly response_bound: boolean | null;
  readonly signer: string | null;
  readonly text: string | null;
};

/** What the router states about one billed request. Amounts are decimal strings of neuron, hashes hexadecimal. */
export type Receipt = {
  readonly version: typeof RECEIPT_VERSION;
  readonly request_id: string;
  readonly account: string;
  readonly api_key_id: string | null;
  /** The path of the request; null if it ended without the process that had received it. */
  readonly endpoint: string | null;
  /** The model that the client named, and the one that the provider answered with; null as above. */
  readonly model: string;
  readonly model_answered: string | null;
  readonly provider: string;
  /** 32 random bytes: without them, nothing in the log can be compared with a guess. */
  readonly salt: string;
  readonly hashes: ReceiptHashes;
  readonly usage: ReceiptUsage;
  /** Per token or unit. */
  readonly prices: { readonly input: string; readonly output: string };
  readonly charge: string;
  readonly outcome: "completed" | "failed" | "aborted";
  readonly error_code: string | null;
  readonly evidence: ReceiptEvidence | null;
  readonly started_at: string;
  readonly finished_at: string;
  /** The hash of the leaf before this one in the log, null for the first. */
  readonly previous_leaf: string | null;
};

/** The bytes that are signed and hashed: canonical JSON. Throws a `TypeError` for a value that has no such form. */
export function receiptBytes(receipt: Receipt): Uint8Array {
  return utf8ToBytes(canonicalJson(receipt));
}

/** The data of a receipt's leaf: the hash of its bytes. It reveals nothing, since a receipt has a random salt. */
export function leafDataOf(bytes: Uint8Array): Uint8Array {
  return sha256(bytes);
}

/** The hash of the leaf of a receipt with these bytes. */
export function receiptLeafHash(bytes: Uint8Array): Uint8Array {
  return leafHash(leafDataOf(bytes));
}

/** Commits to bytes by their SHA-256: the hash of the salt and that hash, as hexadecimal digits. */
export function commitment(salt: Uint8Array, hash: Uint8Array): string {
  return bytesToHex(sha256(concatBytes(salt, hash)));
}

/** Whether a commitment of this receipt is to these bytes. */
export function commitsTo(receipt: Receipt, place: keyof ReceiptHashes, bytes: Uint8Array): boolean {
  return receipt.hashes[place] === commitment(hexToBytes(receipt.salt), sha256(bytes));
}

/** Whether the router's key signed this receipt; `signature` is hexadecimal. */
export function verifyReceipt(receipt: Receipt, signature: string, { publicKey }: NoteKey): boolean {
  const bytes = readHex(signature);
  return bytes !== undefined && verifySignature(bytes, receiptBytes(receipt), publicKey);
}

/** Reads lower-case hexadecimal digits; undefined for other text. */
export function readHex(text: unknown): Uint8Array | undefined {
  return typeof text === "string" && /^([0-9a-f]{2})+$/.test(text) ? hexToBytes(text) : undefined;
}
