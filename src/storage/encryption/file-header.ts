const NONCE_BYTES = 16;
const PUBLIC_KEY_BYTES = 33;

/** The header length in bytes, by version. */
export const HEADER_BYTES = { 1: 1 + NONCE_BYTES, 2: 1 + PUBLIC_KEY_BYTES + NONCE_BYTES } as const;

/** The longest header: this many bytes of a file show whether and how it is encrypted. */
export const MAX_HEADER_BYTES = HEADER_BYTES[2];

/**
 * The header before the ciphertext of a file (facts: storage section 6). Version 1: 0x01 and a nonce of 16 bytes; the
 * reader holds the key. Version 2: 0x02, a compressed secp256k1 public key generated for this file, and the nonce.
 */
export type FileHeader =
  | { readonly version: 1; readonly nonce: Buffer }
  | { readonly version: 2; readonly nonce: Buffer; readonly ephemeralPublicKey: Buffer };

/** The header at the start of `bytes`, undefined without one. A plain file may start with bytes that look like one. */
export function readHeader(bytes: Uint8Array): FileHeader | undefined {
  const [version] = bytes;
  if (version === 1 && bytes.length >= HEADER_BYTES[1])
    return { version, nonce: Buffer.from(bytes.subarray(1, HEADER_BYTES[1])) };
  if (version === 2 && bytes.length >= HEADER_BYTES[2])
    return {
      version,
      ephemeralPublicKey: Buffer.from(bytes.subarray(1, 1 + PUBLIC_KEY_BYTES)),
      nonce: Buffer.from(bytes.subarray(1 + PUBLIC_KEY_BYTES, HEADER_BYTES[2])),
    };
  return undefined;
}

/** The bytes of a header. */
export function writeHeader(header: FileHeader): Buffer {
  return header.version === 1
    ? Buffer.concat([Buffer.of(1), header.nonce])
    : Buffer.concat([Buffer.of(2), header.ephemeralPublicKey, header.nonce]);
}
