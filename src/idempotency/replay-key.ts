import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { bearerToken } from "../keys/auth/secret.ts";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";

/**
 * The key under which the answers to one credential are stored for idempotent replay. It is derived from the secret
 * that the client presents with every request, by HKDF-SHA256 under a separate label. The database holds neither the
 * secret nor this key, and this key cannot be derived from the SHA-256 of the secret that it does hold: stored answers
 * are readable only while a client presents the same secret. The fields are private, so no log line or JSON shows them.
 */
export class ReplayKey {
  readonly #root: Buffer;
  readonly #nameKey: Buffer;
  readonly #sealKey: Buffer;

  private constructor(root: Buffer) {
    this.#root = root;
    this.#nameKey = derive(root, "zerograph/replay/name");
    this.#sealKey = derive(root, "zerograph/replay/seal");
  }

  /** The key of the secret in an `Authorization` header; undefined for a header without one. */
  static ofAuthorization(authorization: unknown): ReplayKey | undefined {
    const secret = typeof authorization === "string" ? bearerToken(authorization) : undefined;
    return secret === undefined
      ? undefined
      : new ReplayKey(derive(Buffer.from(secret), "zerograph/replay/1"));
  }

  /** The key that another of our processes wrapped with `wrap`. Throws for anything else. */
  static unwrap(wrapped: string, { secret, binding }: Wrapping): ReplayKey {
    return new ReplayKey(open(wrappingKey(secret), Buffer.from(wrapped, "base64url"), binding));
  }

  /**
   * This key for another of our processes, as base64url: encrypted under a key derived from the secret that the
   * processes share, and valid only together with `binding`.
   */
  wrap({ secret, binding }: Wrapping): string {
    return seal(wrappingKey(secret), this.#root, binding).toString("base64url");
  }

  /**
   * A name for `text`, base64url of an HMAC-SHA256: equal texts of one credential have equal names. Without the
   * credential's secret, a guess of the text cannot be tested.
   */
  name(text: string): string {
    return createHmac("sha256", this.#nameKey).update(text).digest("base64url");
  }

  /** Encrypts with AES-256-GCM: a fresh nonce, the ciphertext, its tag. `context` is authenticated, not included. */
  seal(bytes: Buffer, context: string): Buffer {
    return seal(this.#sealKey, bytes, context);
  }

  /** Decrypts what `seal` encrypted for the same context. Throws for anything else. */
  open(sealed: Buffer, context: string): Buffer {
    return open(this.#sealKey, sealed, context);
  }
}

/** `secret` is shared by our processes (INTERNAL_SECRET); `binding` ties a wrapped key to one request. */
type Wrapping = { readonly secret: string; readonly binding: string };

function wrappingKey(secret: string): Buffer {
  return derive(Buffer.from(secret), "zerograph/replay/wrap");
}

function derive(from: Buffer, label: string): Buffer {
  return Buffer.from(hkdfSync("sha256", from, "", label, KEY_BYTES));
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
