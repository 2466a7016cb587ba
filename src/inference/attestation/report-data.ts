import type { Hex } from "../../kernel/text/hex.ts";

/** What a quote's 64 bytes of report data name: the signer, and the nonce that was sent. */
export type ReportData = { readonly signer: Hex; readonly nonce: string | undefined };

const ADDRESS_BYTES = 20;
const KEY_BYTES = 32;
const LAYOUT_VERSION = 1;

/**
 * Reads report data in the layouts of brokers and model enclaves (facts: evidence 2): the signer as text, padded; the
 * encryption key, the signer and a version; and the signer, padded, with a nonce. Undefined for any other layout, such as
 * hashes that include the key of a TLS connection.
 */
export function readReportData(data: Buffer): ReportData | undefined {
  const text = data.subarray(0, 42).toString("latin1");
  if (/^0x[0-9a-fA-F]{40}$/.test(text))
    return isZero(data.subarray(42)) ? { signer: text.toLowerCase() as Hex, nonce: undefined } : undefined;
  if (isZero(data.subarray(ADDRESS_BYTES, KEY_BYTES)) && !isZero(data.subarray(0, ADDRESS_BYTES)))
    return { signer: addressAt(data, 0), nonce: data.subarray(KEY_BYTES).toString("hex") };
  const version = data.readUInt32BE(KEY_BYTES + ADDRESS_BYTES);
  if (version === LAYOUT_VERSION && isZero(data.subarray(KEY_BYTES + ADDRESS_BYTES + 4)))
    return { signer: addressAt(data, KEY_BYTES), nonce: undefined };
  return undefined;
}

function addressAt(data: Buffer, at: number): Hex {
  return `0x${data.subarray(at, at + ADDRESS_BYTES).toString("hex")}`;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
