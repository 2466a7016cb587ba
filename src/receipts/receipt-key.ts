import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign } from "node:crypto";
import type { Queries } from "../db/database.ts";
import { readDeploymentSecret } from "../db/deployment-secret.ts";
import { encodeVerifierKey, keyIdOf, type NoteKey } from "./format/checkpoint.ts";

const SEED_BYTES = 32;
/** An Ed25519 seed after this prefix is a private key in PKCS #8 (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const FINGERPRINT_DIGITS = 16;

/** The router's key for receipts and heads of their log: the same in every process of a deployment. */
export type ReceiptKey = NoteKey & {
  readonly keyId: string;
  /** The public key as a C2SP vkey. */
  readonly verifierKey: string;
  sign(bytes: Uint8Array): Uint8Array;
};

/**
 * The key of this deployment: from `configured`, 32 bytes as `0x` and hexadecimal digits, else derived from a secret in
 * the database. Its name, which is also that of the log, is derived from its public half, so that no two deployments
 * share one.
 */
export async function openReceiptKey(queries: Queries, configured: string | undefined): Promise<ReceiptKey> {
  if (configured !== undefined) return receiptKeyOf(Buffer.from(configured.slice(2), "hex"));
  const { secret } = await readDeploymentSecret(queries, "receipts");
  const seed = hkdfSync("sha256", Buffer.from(secret, "hex"), "", "zerograph receipts", SEED_BYTES);
  return receiptKeyOf(Buffer.from(seed));
}

/** The key with this seed. */
export function receiptKeyOf(seed: Buffer): ReceiptKey {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  const publicKey = new Uint8Array(Buffer.from(x, "base64url"));
  const fingerprint = createHash("sha256").update(publicKey).digest("hex").slice(0, FINGERPRINT_DIGITS);
  const noteKey = { name: `zerograph-receipts/${fingerprint}`, publicKey };
  return {
    ...noteKey,
    keyId: keyIdOf(noteKey),
    verifierKey: encodeVerifierKey(noteKey),
    sign: (bytes) => sign(null, bytes, key),
  };
}
