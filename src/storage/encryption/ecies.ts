import { createECDH, hkdfSync, randomBytes } from "node:crypto";
import { AppError } from "../../kernel/errors.ts";

const CURVE = "secp256k1";
const PURPOSE = "0g-storage-client/ecies/v1/aes-256";
const KEY_BYTES = 32;

/** The AES key of a file, and the public key in its header from which the recipient derives the same AES key. */
export type SealedKey = { readonly key: Buffer; readonly ephemeralPublicKey: Buffer };

/**
 * Derives a file key that only the holder of `recipientPublicKey` (33 or 65 bytes, secp256k1) can derive again:
 * HKDF-SHA256 over the x coordinate of the Diffie-Hellman shared point. `ephemeralPrivateKey` is for tests; otherwise a
 * fresh one is generated and discarded. Throws `invalid_parameter` for a key that is not on the curve.
 */
export function sealKey(recipientPublicKey: Uint8Array, ephemeralPrivateKey?: Uint8Array): SealedKey {
  const ephemeral = createECDH(CURVE);
  if (ephemeralPrivateKey) setPrivateKey(ephemeral, ephemeralPrivateKey);
  else ephemeral.generateKeys();
  const ephemeralPublicKey = ephemeral.getPublicKey(null, "compressed");
  return { key: derive(ephemeral, recipientPublicKey), ephemeralPublicKey };
}

/** Derives the key of a file sealed for the holder of `privateKey`. Throws `invalid_parameter` for invalid keys. */
export function openKey(privateKey: Uint8Array, ephemeralPublicKey: Uint8Array): Buffer {
  const own = createECDH(CURVE);
  setPrivateKey(own, privateKey);
  return derive(own, ephemeralPublicKey);
}

/** A nonce for a file. Never use a nonce twice with one key. */
export function newNonce(): Buffer {
  return randomBytes(16);
}

type Ecdh = ReturnType<typeof createECDH>;

function derive(own: Ecdh, publicKey: Uint8Array): Buffer {
  let shared: Buffer;
  try {
    shared = own.computeSecret(publicKey);
  } catch (cause) {
    throw new AppError("invalid_parameter", "This is not a valid secp256k1 public key.", { cause });
  }
  return Buffer.from(hkdfSync("sha256", shared, Buffer.alloc(0), PURPOSE, KEY_BYTES));
}

function setPrivateKey(ecdh: Ecdh, privateKey: Uint8Array): void {
  try {
    ecdh.setPrivateKey(Buffer.from(privateKey));
  } catch (cause) {
    throw new AppError("invalid_parameter", "This is not a valid secp256k1 private key.", { cause });
  }
}
