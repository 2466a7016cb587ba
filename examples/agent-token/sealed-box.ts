import { createCipheriv, createDecipheriv, createECDH, createHash, randomBytes } from "node:crypto";

const CURVE = "secp256k1";
const CIPHER = "aes-256-gcm";
/** An uncompressed public key: 0x04, then both coordinates. */
const PUBLIC_KEY_BYTES = 65;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts with a symmetric key of 32 bytes: IV, tag, ciphertext. */
export function encrypt(text: Uint8Array, key: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv);
  const ciphertext = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
}

/** Decrypts what `encrypt` returned. Throws for another key and for changed bytes. */
export function decrypt(box: Uint8Array, key: Uint8Array): Buffer {
  const decipher = createDecipheriv(CIPHER, key, box.subarray(0, IV_BYTES));
  decipher.setAuthTag(box.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(box.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
}

/**
 * Seals bytes for a public key of 65 bytes, so that only its private key opens them (ECIES): an ephemeral public key,
 * then what `encrypt` returns. ERC-7857 leaves the scheme to the oracle.
 */
export function seal(bytes: Uint8Array, publicKey: Uint8Array): Buffer {
  const ephemeral = createECDH(CURVE);
  const ephemeralKey = ephemeral.generateKeys();
  return Buffer.concat([ephemeralKey, encrypt(bytes, sharedKey(ephemeral.computeSecret(publicKey)))]);
}

/** Opens what `seal` returned with the private key of 32 bytes. */
export function open(sealed: Uint8Array, privateKey: Uint8Array): Buffer {
  const receiver = createECDH(CURVE);
  receiver.setPrivateKey(privateKey);
  const secret = receiver.computeSecret(sealed.subarray(0, PUBLIC_KEY_BYTES));
  return decrypt(sealed.subarray(PUBLIC_KEY_BYTES), sharedKey(secret));
}

function sharedKey(secret: Uint8Array): Buffer {
  return createHash("sha256").update(secret).digest();
}
