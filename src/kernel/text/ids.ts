import { randomFillSync, randomUUID } from "node:crypto";

/** A new row id, UUID version 4. */
export function newId(): string {
  return randomUUID();
}

/** Whether `text` is a valid row id, in any letter case. The database would throw on anything else. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/**
 * A new request id for `X-Request-ID`: `req-` and the 32 hexadecimal digits of a UUID version 7, which begins with the
 * time in milliseconds: rows keyed by ids in the order of time share the pages of their indexes.
 */
export function newRequestId(): string {
  if (used === RANDOM.length) {
    randomFillSync(RANDOM);
    used = 0;
  }
  const random = RANDOM.toString("hex", used, used + RANDOM_BYTES);
  used += RANDOM_BYTES;
  const variant = "89ab"[Number.parseInt(random.charAt(3), 16) & 3];
  return `req-${Date.now().toString(16).padStart(12, "0")}7${random.slice(0, 3)}${variant}${random.slice(4, 19)}`;
}

/** The random digits of a request id are 9 bytes and a half. Bytes are generated for many ids at once. */
const RANDOM_BYTES = 10;
const RANDOM = Buffer.alloc(256 * RANDOM_BYTES);
let used = RANDOM.length;

/** Whether a client's `X-Request-ID` is valid: 1-64 of `[A-Za-z0-9-_.:]`, not starting with `async-`. */
export function isRequestId(text: string): boolean {
  return /^(?!async-)[A-Za-z0-9\-_.:]{1,64}$/.test(text);
}
