import { createHash } from "node:crypto";
import type { Hex } from "../../kernel/text/hex.ts";

/**
 * What a quote's 64 bytes of report data name: the signer, the nonce that was sent, and the SHA-256 of the public key at
 * which TLS connections end (of its SubjectPublicKeyInfo). Nonce and hash are hexadecimal, undefined where a layout has none.
 */
export type ReportData = {
  readonly signer: Hex;
  readonly nonce: string | undefined;
  readonly tlsKeyHash: string | undefined;
};

/** What a report states besides the quote, to compare a hash of it: the signer and the hash of the TLS key. */
export type StatedKeys = { readonly signer: Hex | undefined; readonly tlsKeyHash: string | undefined };

const ADDRESS_BYTES = 20;
const KEY_BYTES = 32;
const LAYOUT_VERSION = 1;

/**
 * Reads report data in the layouts of brokers and model enclaves (facts: evidence 2): the signer as text, padded; the
 * encryption key, the signer and a version; the signer, padded, with a nonce; and the hash of the signer and the TLS key,
 * with a nonce, if that is the hash of what is `stated`. Undefined for any other layout.
 */
export function readReportData(data: Buffer, stated: StatedKeys): ReportData | undefined {
  return readPlain(data) ?? readHashed(data, stated);
}

function readPlain(data: Buffer): ReportData | undefined {
  const text = data.subarray(0, 42).toString("latin1");
  if (/^0x[0-9a-fA-F]{40}$/.test(text))
    return isZero(data.subarray(42)) ? { signer: text.toLowerCase() as Hex, ...NO_KEYS } : undefined;
  if (isZero(data.subarray(ADDRESS_BYTES, KEY_BYTES)) && !isZero(data.subarray(0, ADDRESS_BYTES)))
    return { ...NO_KEYS, signer: addressAt(data, 0), nonce: nonceIn(data) };
  const version = data.readUInt32BE(KEY_BYTES + ADDRESS_BYTES);
  if (version === LAYOUT_VERSION && isZero(data.subarray(KEY_BYTES + ADDRESS_BYTES + 4)))
    return { signer: addressAt(data, KEY_BYTES), ...NO_KEYS };
  return undefined;
}

function readHashed(data: Buffer, { signer, tlsKeyHash }: StatedKeys): ReportData | undefined {
  if (signer === undefined || tlsKeyHash === undefined) return undefined;
  const named = createHash("sha256")
    .update(`${signer.slice(2)}${tlsKeyHash}`, "hex")
    .digest();
  return named.equals(data.subarray(0, KEY_BYTES)) ? { signer, nonce: nonceIn(data), tlsKeyHash } : undefined;
}

function nonceIn(data: Buffer): string {
  return data.subarray(KEY_BYTES).toString("hex");
}

const NO_KEYS = { nonce: undefined, tlsKeyHash: undefined } as const;

function addressAt(data: Buffer, at: number): Hex {
  return `0x${data.subarray(at, at + ADDRESS_BYTES).toString("hex")}`;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
