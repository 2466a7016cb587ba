import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";

/**
 * Encrypts the content of files with AES-256-GCM. Each file has a random key, which is stored encrypted under a key of
 * the deployment (HKDF-SHA256 of its secret in the database and, if there is one, `FILES_SECRET`): without it, nothing
 * of a deleted file can be read. A part is bound to its file and its place in it.
 */
export class FileCipher {
  readonly #wrappingKey: Buffer;

  constructor(deploymentSecret: string, filesSecret = "") {
    const salt = Buffer.from(filesSecret);
    this.#wrappingKey = Buffer.from(
      hkdfSync("sha256", deploymentSecret, salt, "zerograph/files/1", KEY_BYTES),
    );
  }

  /** A new key for a file, encrypted. */
  newKey(fileId: string): Buffer {
    return seal(this.#wrappingKey, randomBytes(KEY_BYTES), fileId);
  }

  /** The key of a file. Throws if it was encrypted under another secret, or for another file. */
  open(fileId: string, sealedKey: Buffer): FileKey {
    return new FileKey(fileId, open(this.#wrappingKey, sealedKey, fileId));
  }
}

/** The key of one file. It encrypts and decrypts the parts of the file. */
export class FileKey {
  readonly #fileId: string;
  readonly #key: Buffer;

  constructor(fileId: string, key: Buffer) {
    this.#fileId = fileId;
    this.#key = key;
  }

  /** A fresh nonce, the ciphertext, its tag. */
  seal(part: Buffer, n: number): Buffer {
    return seal(this.#key, part, `${this.#fileId}/${n}`);
  }

  /** Decrypts what `seal` encrypted for the same part of the file. Throws for anything else. */
  open(sealed: Buffer, n: number): Buffer {
    return open(this.#key, sealed, `${this.#fileId}/${n}`);
  }
}

function seal(key: Buffer, bytes: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, sealed: Buffer, context: string): Buffer {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new RangeError("too short to be sealed");
  const [nonce, tag] = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(-TAG_BYTES)];
  const decipher = createDecipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
