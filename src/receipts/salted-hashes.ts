import { hash } from "node:crypto";
import { bytesToHex } from "@noble/hashes/utils.js";
import { digestAt } from "./draft.ts";
import { HASH_BYTES, type ReceiptHashes } from "./format/receipt.ts";
import { commitTo, newSalt } from "./native-hashes.ts";

/** The stored hashes of a draft. `commitments` are those of an earlier version: the salt, and the salted hashes. */
export type StoredHashes = {
  readonly digests: Uint8Array | null;
  readonly commitments: Uint8Array | null;
};

/** The salt of a receipt, and what is salted with it. */
export type SaltedHashes = {
  readonly salt: string;
  readonly hashes: ReceiptHashes;
  /** The commitment to a text, in place of the text. */
  readonly ofText: (text: string) => string;
};

/** Salts the hashes of a draft, with a new salt unless the draft has one. */
export function saltHashes({ digests, commitments }: StoredHashes): SaltedHashes {
  const isSalted = commitments !== null && commitments.length >= HASH_BYTES;
  const salt = isSalted ? commitments.subarray(0, HASH_BYTES) : newSalt();
  const stored = isSalted ? commitments.subarray(HASH_BYTES) : digests;
  const at = (place: keyof ReceiptHashes) => {
    const digest = digestAt(stored, place);
    if (!digest) return null;
    return isSalted ? bytesToHex(digest) : commitTo(salt, digest);
  };
  return {
    salt: bytesToHex(salt),
    hashes: {
      answered: at("answered"),
      forwarded: at("forwarded"),
      received: at("received"),
      returned: at("returned"),
    },
    ofText: (text) => commitTo(salt, hash("sha256", text, "buffer")),
  };
}
