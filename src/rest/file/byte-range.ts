/** Which bytes of a file a request asks for; `end` is behind the last of them. */
export type ByteRange =
  | { readonly kind: "all" }
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

const ALL: ByteRange = { kind: "all" };

/**
 * Reads a `Range` (RFC 9110, section 14). Only a single range is served: several, other units and what is malformed
 * stand for the whole file, as the standard allows. Beyond the end of the file, and the last 0 bytes, cannot be had.
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange {
  const [, from, to] = /^bytes=[ \t]*(\d{0,19})-(\d{0,19})[ \t]*$/i.exec(header ?? "") ?? [];
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
 * Whether a `Range` counts, given its `If-Range`: only by the strong tag of what is served. A date never matches, since
 * no answer tells one.
 */
export function rangeHolds(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange.trim() === etag;
}

/** Whether an `If-Match` lets a request pass: it names this tag, or any. Weak tags never match (RFC 9110, 13.1.1). */
export function isMatched(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === "*" || ifMatch.split(",").some((tag) => tag.trim() === etag);
}

/** The moment of an HTTP date; undefined for what is none, which the standard has ignored. */
export function readHttpDate(text: string): Date | undefined {
  const date = new Date(text);
  return /^[A-Z][a-z]+,? .* GMT$/.test(text) && !Number.isNaN(date.getTime()) ? date : undefined;
}

/** Whether an `If-None-Match` names this tag, so that the client has what it asks for. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
