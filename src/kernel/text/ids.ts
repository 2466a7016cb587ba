import { randomUUID } from "node:crypto";

/** A fresh row id, UUID version 4. */
export function newId(): string {
  return randomUUID();
}

/** Whether `text` may be a row id, in any letter case. Anything else would make the database throw. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** A request id as `X-Request-ID` shows it: `req-` and 32 hexadecimal digits. Node draws UUIDs many at a time, bytes one by one. */
export function newRequestId(): string {
  return `req-${randomUUID().replaceAll("-", "")}`;
}

/** Whether a client's own `X-Request-ID` may stand: 1-64 of `[A-Za-z0-9-_.:]`, not starting with `async-`. */
export function isRequestId(text: string): boolean {
  return /^(?!async-)[A-Za-z0-9\-_.:]{1,64}$/.test(text);
}
