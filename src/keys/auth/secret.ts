import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** The prefixes that distinguish the kinds of secret: two kinds of key (SPEC 5.2), and wallet sessions. */
export type KeyPrefix = "sk-" | "mk-" | "ws-";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIXES = ["sk-", "mk-", "ws-"] as const;
const RANDOM_DIGITS = 43;
const CHECK_DIGITS = 6;
const SHAPE = new RegExp(`^(?:sk-|mk-|ws-)[0-9A-Za-z]{${RANDOM_DIGITS + CHECK_DIGITS}}$`);

/**
 * A new secret: the prefix, 256 random bits as 43 base62 digits, and the CRC-32 of both as 6 base62 digits, so that a
 * mistyped or made-up key is rejected without a database lookup.
 */
export function newSecret(prefix: KeyPrefix): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString("hex")}`), RANDOM_DIGITS);
  return body + checkDigits(body);
}

/** The prefix of a well-formed secret with a valid checksum, else undefined. */
export function readSecret(secret: string): KeyPrefix | undefined {
  if (!SHAPE.test(secret)) return undefined;
  const body = secret.slice(0, -CHECK_DIGITS);
  if (checkDigits(body) !== secret.slice(-CHECK_DIGITS)) return undefined;
  return PREFIXES.find((prefix) => secret.startsWith(prefix));
}

/** The secret in an `Authorization` header, in any format; undefined for a header that is not `Bearer <secret>`. */
export function bearerToken(authorization: string): string | undefined {
  return /^bearer +([^\s,]{1,512})$/i.exec(authorization)?.[1];
}

/** The stored hash of a secret. 256 random bits need no slow hash: they cannot be guessed. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret);
}

/** The preview of a key after its creation: `sk-abcde…`. */
export function previewSecret(secret: string): string {
  return `${secret.slice(0, 8)}…`;
}

function checkDigits(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (let digit = 0; digit < CHECK_DIGITS; digit++) {
    text = DIGITS[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = "";
  for (let digit = 0; digit < length; digit++) {
    text = DIGITS[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}
