import { AppError } from "./errors.ts";

/** The page of a list that a client requests: at most `first` rows after the row with the cursor `after`. */
export type PageRequest = { readonly first: number; readonly after?: string | undefined };
/** One page of a list, and whether there is a next one. */
export type Page<T> = { readonly rows: readonly T[]; readonly hasNextPage: boolean };

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
 * The default cursor of a list of the chain's rows, newest first: after every block and log. A page is then always an
 * index range; with an optional condition, both cases would share one plan.
 */
export const END_OF_CHAIN = ["9223372036854775807", "2147483647"] as const;

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

function invalidCursor(): AppError {
  return new AppError("invalid_cursor", "This cursor is not one of ours.", { param: "after" });
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
