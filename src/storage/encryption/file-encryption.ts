import { AppError } from "../../kernel/errors.ts";
import { newNonce, openKey, sealKey } from "./ecies.ts";
import { type FileHeader, HEADER_BYTES, readHeader, writeHeader } from "./file-header.ts";
import { applyKeyStream } from "./key-stream.ts";

const KEY_BYTES = 32;

/** The recipient of an encrypted file: holders of a symmetric key, or the holder of a secp256k1 key. */
export type Recipient = { readonly key: Uint8Array } | { readonly publicKey: Uint8Array };

/** The keys of a reader: a symmetric key of 32 bytes for version 1, a secp256k1 private key for version 2. */
export type ReaderKeys = { readonly key?: Uint8Array; readonly privateKey?: Uint8Array };

/**
 * The cipher of one file. `transform` encrypts or decrypts a part that begins at `offset` of the plaintext; offset 0 is
 * the first byte after the header.
 */
export type FileCipher = {
  readonly header: FileHeader;
  readonly headerBytes: number;
  transform(bytes: Uint8Array, offset: bigint): Buffer;
};

/**
 * Encrypts files as the network's clients do (facts: storage section 6), for clients built on this product: the gateway
 * itself never decrypts a file for a client. AES-256-CTR has no authentication tag: the merkle root, over header and
 * ciphertext, protects the bytes. Send `writeHeader(cipher.header)`, then the transformed parts in any order.
 */
export function newFileCipher(recipient: Recipient, nonce = newNonce()): FileCipher {
  if ("key" in recipient) return cipherOf({ version: 1, nonce }, checkKey(recipient.key));
  const { key, ephemeralPublicKey } = sealKey(recipient.publicKey);
  return cipherOf({ version: 2, nonce, ephemeralPublicKey }, key);
}

/** The cipher of a file with this header. Throws `invalid_parameter` when the key for its version is missing. */
export function openFileCipher(header: FileHeader, keys: ReaderKeys): FileCipher {
  if (header.version === 1 && keys.key) return cipherOf(header, checkKey(keys.key));
  if (header.version === 2 && keys.privateKey)
    return cipherOf(header, openKey(keys.privateKey, header.ephemeralPublicKey));
  const needed = header.version === 1 ? "a symmetric key" : "a private key";
  throw new AppError("invalid_parameter", `A file of encryption version ${header.version} needs ${needed}.`);
}

/** Encrypts a file in memory. Returns its header and ciphertext. */
export function encryptFile(plaintext: Uint8Array, recipient: Recipient): Buffer {
  const cipher = newFileCipher(recipient);
  return Buffer.concat([writeHeader(cipher.header), cipher.transform(plaintext, 0n)]);
}

/**
 * Decrypts a file in memory. Throws `invalid_parameter` when the file has no header, or without the right kind of key.
 * A wrong key is not detected and yields random bytes.
 */
export function decryptFile(file: Uint8Array, keys: ReaderKeys): Buffer {
  const header = readHeader(file);
  if (!header) throw new AppError("invalid_parameter", "This file has no encryption header.");
  const cipher = openFileCipher(header, keys);
  return cipher.transform(file.subarray(cipher.headerBytes), 0n);
}

function cipherOf(header: FileHeader, key: Uint8Array): FileCipher {
  return {
    header,
    headerBytes: HEADER_BYTES[header.version],
    transform: (bytes, offset) => applyKeyStream(key, header.nonce, bytes, offset),
  };
}

function checkKey(key: Uint8Array): Uint8Array {
  if (key.length === KEY_BYTES) return key;
  throw new AppError("invalid_parameter", "A symmetric key has 32 bytes.");
}
