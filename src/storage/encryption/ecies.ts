import { createECDH, hkdfSync, randomBytes } from "node:crypto";
import { AppError } from "../../kernel/errors.ts";

const CURVE = "secp256k1";
const PURPOSE = "0g-storage-client/ecies/v1/aes-256";
const KEY_BYTES = 32;

/** The AES key of a file, and the public key that its header carries so that the recipient finds the same. */
export type SealedKey = { readonly key: Buffer; readonly ephemeralPublicKey: Buffer };

/**
 * Makes a key for a file that only the holder of `recipientPublicKey` (33 or 65 bytes, secp256k1) can find again:
 * HKDF-SHA256 over the x coordinate of Diffie and Hellman's shared point. `ephemeralPrivateKey` is for tests; a fresh
 * one is made otherwise, and forgotten. Throws `invalid_parameter` for a key that is not on the curve.
 */
export function sealKey(recipientPublicKey: Uint8Array, ephemeralPrivateKey?: Uint8Array): SealedKey {
  const ephemeral = createECDH(CURVE);
  if (ephemeralPrivateKey) setPrivateKey(ephemeral, ephemeralPrivateKey);
  else ephemeral.generateKeys();
  const ephemeralPublicKey = ephemeral.getPublicKey(null, "compressed");
  return { key: derive(ephemeral, recipientPublicKey), ephemeralPublicKey };
}

/** Finds the key of a file that was sealed for the holder of `privateKey`. Throws `invalid_parameter` for bad keys. */
export function openKey(privateKey: Uint8Array, ephemeralPublicKey: Uint8Array): Buffer {
  const own = createECDH(CURVE);
  setPrivateKey(own, privateKey);
  return derive(own, ephemeralPublicKey);
}

/** A nonce for a file. One key must never see the same nonce twice. */
export function newNonce(): Buffer {
  return randomBytes(16);
}

type Ecdh = ReturnType<typeof createECDH>;

function derive(own: Ecdh, publicKey: Uint8Array): Buffer {
  let shared: Buffer;
  try {
    shared = own.computeSecret(publicKey);
  } catch (cause) {
    throw new AppError("invalid_parameter", "This is no public key of secp256k1.", { cause });
  }
  return Buffer.from(hkdfSync("sha256", shared, Buffer.alloc(0), PURPOSE, KEY_BYTES));
}

function setPrivateKey(ecdh: Ecdh, privateKey: Uint8Array): void {
  try {
    ecdh.setPrivateKey(Buffer.from(privateKey));
  } catch (cause) {
    throw new AppError("invalid_parameter", "This is no private key of secp256k1.", { cause });
  }
}
