import { AppError } from "./errors.ts";

/** The page of a list that a client requests: at most `first` rows after the row with the cursor `after`. */
export type PageRequest = { readonly first: number; readonly after?: string | undefined };
/** One page of a list, and whether there is a next one. */
export type Page<T> = { readonly rows: readonly T[]; readonly hasNextPage: boolean };

/** The message of `invalid_cursor`. */
export const INVALID_CURSOR = "This cursor was not issued by this server.";

/** The maximum length of a page. */
const MAX_PAGE = 100;

/** Checks `first` (1-100, else `invalid_parameter`) and returns how many rows to read: one more than requested. */
export function pageLimit(page: PageRequest): number {
  if (!Number.isInteger(page.first) || page.first < 1 || page.first > MAX_PAGE)
    throw new AppError("invalid_parameter", `A page must have 1 to ${MAX_PAGE} rows.`, { param: "first" });
  return page.first + 1;
}

/** Drops the extra row that `pageLimit` added. */
export function toPage<T>(rows: readonly T[], page: PageRequest): Page<T> {
  return { rows: rows.slice(0, page.first), hasNextPage: rows.length > page.first };
}

/**
 * The default position of a list of the chain's rows, newest first: after every block and log. A page is then always an
 * index range; with an optional condition, both cases would share one plan.
 */
const END_OF_CHAIN = ["9223372036854775807", "2147483647"] as const;

/** Encodes the sort key of a row as an opaque cursor. */
export function encodeCursor(...key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString("base64url");
}

/** Decodes the sort key of a cursor with `length` parts. Throws `invalid_cursor` for anything else. */
export function decodeCursor(cursor: string, length: number): string[] {
  const key = parse(cursor);
  if (!Array.isArray(key) || key.length !== length || !key.every((part) => typeof part === "string"))
    throw invalidCursor();
  return key;
}

/** The cursor of a row in a list that is ordered by a time in whole milliseconds, then by id. */
export function encodeTimeCursor(at: Date, id: string): string {
  return encodeCursor(at.toISOString(), id);
}

/** Decodes a cursor of `encodeTimeCursor`. Throws `invalid_cursor` for anything else. */
export function decodeTimeCursor(cursor: string): { readonly at: Date; readonly id: string } {
  const [time = "", id = ""] = decodeCursor(cursor, 2);
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) throw invalidCursor();
  return { at, id };
}

/**
 * Decodes the block number and log index of a cursor in a list of the chain's rows, as statement parameters; without a
 * cursor, they follow every row. Throws `invalid_cursor`.
 */
export function decodeChainCursor(cursor: string | undefined): readonly [string, string] {
  if (cursor === undefined) return END_OF_CHAIN;
  const [block = "", log = ""] = decodeCursor(cursor, 2);
  if (!/^\d{1,18}$/.test(block) || !/^\d{1,9}$/.test(log)) throw invalidCursor();
  return [block, log];
}

/** The error for a cursor that no list or event stream issued. */
export function invalidCursor(): AppError {
  return new AppError("invalid_cursor", INVALID_CURSOR, { param: "after" });
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
