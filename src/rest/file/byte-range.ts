/** The requested bytes of a file; `end` is exclusive. */
export type ByteRange =
  | { readonly kind: "all" }
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

const ALL: ByteRange = { kind: "all" };

/**
 * Reads a `Range` (RFC 9110, section 14). Only a single range is served: several ranges, other units and malformed
 * values select the whole file, as the standard allows. A range past the end, or of the last 0 bytes, is unsatisfiable.
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange {
  const [, from, to] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? "") ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return ALL;
  if (from === "") {
    const suffix = Math.min(Number(to), sizeBytes);
    return suffix === 0
      ? { kind: "unsatisfiable" }
      : { kind: "part", start: sizeBytes - suffix, end: sizeBytes };
  }
  const start = Number(from);
  const last = to === "" ? sizeBytes - 1 : Number(to);
  if (to !== "" && last < start) return ALL;
  if (start >= sizeBytes) return { kind: "unsatisfiable" };
  return { kind: "part", start, end: Math.min(last + 1, sizeBytes) };
}

/**
 * Whether a `Range` applies, given its `If-Range`: only the strong tag of the served file matches. A date never does,
 * since no response has a `Last-Modified`.
 */
export function rangeHolds(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange.trim() === etag;
}

/** Whether an `If-Match` matches: it names this tag, or any. Weak tags never match (RFC 9110, 13.1.1). */
export function isMatched(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === "*" || ifMatch.split(",").some((tag) => tag.trim() === etag);
}

/** `Sun Nov  6 08:49:37 1994` */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** The time of an HTTP date, in any of its three forms (RFC 9110, 5.6.7); undefined for an invalid one, which is ignored. */
export function readHttpDate(text: string): Date | undefined {
  // That of C's asctime states no zone.
  const date = new Date(ASCTIME.test(text) ? `${text} GMT` : text);
  const isDate = ASCTIME.test(text) || /^[A-Z][a-z]+,? .* GMT$/.test(text);
  return isDate && !Number.isNaN(date.getTime()) ? date : undefined;
}

/** Whether an `If-None-Match` names this tag, so that the client's copy is current. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
