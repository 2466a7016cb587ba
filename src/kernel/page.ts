import { AppError } from "./errors.ts";

/** What a client asked of a list: at most `first` rows, from after the row whose `cursor` it was given. */
export type PageRequest = { readonly first: number; readonly after?: string | undefined };
/** One page of a list, with what is needed to ask for the next. */
export type Page<T> = { readonly rows: readonly T[]; readonly hasNextPage: boolean };

/** No page is longer than this. */
const MAX_PAGE = 100;

/** Checks `first` (1-100, else `invalid_parameter`) and returns how many rows to read: one more than asked. */
export function pageLimit(page: PageRequest): number {
  if (!Number.isInteger(page.first) || page.first < 1 || page.first > MAX_PAGE)
    throw new AppError("invalid_parameter", `A page has 1 to ${MAX_PAGE} rows.`, { param: "first" });
  return page.first + 1;
}

/** Cuts the one row too many that `pageLimit` asked for. */
export function toPage<T>(rows: readonly T[], page: PageRequest): Page<T> {
  return { rows: rows.slice(0, page.first), hasNextPage: rows.length > page.first };
}

/**
 * Where a list of the chain's rows, newest first, begins that was asked for without a cursor: behind every block and
 * log. A page is then always a range of its index; a condition that may be absent would have one plan for both.
 */
export const END_OF_CHAIN = ["9223372036854775807", "2147483647"] as const;

/** An opaque cursor out of the sort key of a row. */
export function encodeCursor(...key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString("base64url");
}

/** The sort key out of a cursor of ours with `length` parts. Throws `invalid_cursor` for anything else. */
export function decodeCursor(cursor: string, length: number): string[] {
  const key = parse(cursor);
  if (!Array.isArray(key) || key.length !== length || !key.every((part) => typeof part === "string"))
    throw invalidCursor();
  return key;
}

/** The cursor of a row in a list that is ordered by a time of whole milliseconds, and by id between equals. */
export function encodeTimeCursor(at: Date, id: string): string {
  return encodeCursor(at.toISOString(), id);
}

/** Reads what `encodeTimeCursor` made. Throws `invalid_cursor` for anything else. */
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
