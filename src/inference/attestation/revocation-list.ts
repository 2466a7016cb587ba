import { verify, type X509Certificate } from "node:crypto";

type Element = {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and length. */
  readonly whole: Buffer;
};

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

/**
 * Why a certificate revocation list (RFC 5280, DER) may not be relied on at `now`; undefined if it may: it is well formed,
 * signed by the key of `issuer`, and current.
 */
export function revocationListFault(der: Buffer, issuer: X509Certificate, now: Date): string | undefined {
  try {
    const [list] = elementsOf(der);
    if (list?.tag !== SEQUENCE || list.whole.length !== der.length) return "malformed";
    const [body, , signature] = elementsOf(list.content);
    if (body?.tag !== SEQUENCE || signature?.tag !== BIT_STRING) return "malformed";
    if (!verify("sha256", body.whole, issuer.publicKey, signature.content.subarray(1))) return "not signed";
    const [thisUpdate, nextUpdate] = timesOf(body);
    if (!thisUpdate || !nextUpdate) return "undated";
    return now >= thisUpdate && now <= nextUpdate ? undefined : "not current";
  } catch {
    return "malformed";
  }
}

/** The times after the optional version, the algorithm and the issuer. */
function timesOf(body: Element): readonly (Date | undefined)[] {
  const parts = elementsOf(body.content);
  const at = parts[0]?.tag === INTEGER ? 3 : 2;
  return [timeOf(parts[at]), timeOf(parts[at + 1])];
}

function timeOf(element: Element | undefined): Date | undefined {
  if (element?.tag !== UTC_TIME && element?.tag !== GENERALIZED_TIME) return undefined;
  const digits = element.content.toString("latin1");
  const text = element.tag === UTC_TIME ? `${Number(digits.slice(0, 2)) < 50 ? 20 : 19}${digits}` : digits;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function elementsOf(bytes: Buffer): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    const start = at + 2 + lengthBytes;
    if (start + length > bytes.length) throw new RangeError("an element is longer than its container");
    found.push({
      tag,
      content: bytes.subarray(start, start + length),
      whole: bytes.subarray(at, start + length),
    });
    at = start + length;
  }
  return found;
}
