import { createHash } from "node:crypto";
import { AppError } from "./errors.ts";
import { isStorable } from "./text/storable.ts";
import { readIsoTime } from "./text/times.ts";

/** The page of a list that a client requests: the first rows, or those after a cursor; or the last, or those before one. */
export type PageRequest =
  | { readonly first: number; readonly after?: string | undefined }
  | { readonly last: number; readonly before?: string | undefined };

/** One page of a list, in the list's order, and whether there are more rows on either side of it. */
export type Page<T> = {
  readonly rows: readonly T[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
};

/** The message of `invalid_cursor` for what no list or event stream issued. */
export const INVALID_CURSOR = "This cursor was not issued by this server.";
const CURSOR_OF_ANOTHER_LIST = "This is not a cursor of this list in this order.";

/** The maximum length of a page. */
const MAX_PAGE = 100;

/** Checks the page's length (1-100, else `invalid_parameter`) and returns how many rows to read: one more. */
export function pageLimit(page: PageRequest): number {
  const [param, length] = "last" in page ? (["last", page.last] as const) : (["first", page.first] as const);
  if (!Number.isInteger(length) || length < 1 || length > MAX_PAGE)
    throw new AppError("invalid_parameter", `A page must have 1 to ${MAX_PAGE} rows.`, { param });
  return length + 1;
}

/**
 * The page of the rows that were read: without the extra row of `pageLimit`, and in the order of the list. The row of
 * the request's cursor is on the other side of the page.
 */
export function toPage<T>(rows: readonly T[], page: PageRequest): Page<T> {
  if ("last" in page)
    return {
      rows: rows.slice(0, page.last).reverse(),
      hasNextPage: page.before !== undefined,
      hasPreviousPage: rows.length > page.last,
    };
  return {
    rows: rows.slice(0, page.first),
    hasNextPage: rows.length > page.first,
    hasPreviousPage: page.after !== undefined,
  };
}

/** The order in which a statement reads the rows of a page, and how these compare with the row of its cursor. */
export type Scan = { readonly order: "asc" | "desc"; readonly beyond: ">" | "<" };

/** How to read a page of a list in an order: the last rows are read from its end. `toPage` restores the order. */
export function scanOf(page: PageRequest, order: Scan["order"]): Scan {
  return (order === "asc") === "last" in page ? DESCENDING : ASCENDING;
}

const ASCENDING: Scan = { order: "asc", beyond: ">" };
const DESCENDING: Scan = { order: "desc", beyond: "<" };

/** The cursor at which a page begins, or before which it ends; undefined at an end of the list. */
export function cursorOf(page: PageRequest): string | undefined {
  return "last" in page ? page.before : page.after;
}

/**
 * The ends of a list of the chain's rows: before and after every block and log. A page is then always an index range;
 * with an optional condition, both cases would share one plan.
 */
const CHAIN_ENDS = { asc: ["-1", "-1"], desc: ["9223372036854775807", "2147483647"] } as const;

/**
 * The name, in its cursors, of a list that each of several things has: of the one with this key. A cursor of another
 * one's list is then refused. The key is hashed, since a cursor has a maximum length.
 */
export function listOf(list: string, ...key: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(key)).digest("base64url");
  return `${list}${OF}${hash.slice(0, 16)}`;
}

const OF = " ";

/** Encodes the sort key of a row as an opaque cursor of a list; `list` names the list, and its order if it has several. */
export function encodeCursor(list: string, ...key: readonly string[]): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString("base64url");
}

/**
 * Decodes the sort key, of `length` parts, of a cursor that was encoded for the same list, or by an earlier version,
 * whose cursors did not name their list, or not the thing that has it. Throws `invalid_cursor` for anything else.
 */
export function decodeCursor(cursor: string, list: string, length: number, param?: CursorParam): string[] {
  const parts = parse(cursor);
  if (!Array.isArray(parts) || !parts.every(isPart)) throw invalidCursor(param);
  const [of, ...key] = parts;
  const isOfList = of === list || of === list.split(OF, 1)[0];
  if (!isOfList && parts.length === length) return parts;
  if (!isOfList || key.length !== length) throw invalidCursor(param, CURSOR_OF_ANOTHER_LIST);
  return key;
}

function isPart(part: unknown): part is string {
  return typeof part === "string" && isStorable(part);
}

/** The sort key of a page's cursor, of `length` parts; undefined without one. Throws `invalid_cursor`. */
export function readPageCursor(page: PageRequest, list: string, length: number): string[] | undefined {
  const cursor = cursorOf(page);
  return cursor === undefined ? undefined : decodeCursor(cursor, list, length, paramOf(page));
}

/** The cursor of a row in a list that is ordered by a time in whole milliseconds, then by id. */
export function encodeTimeCursor(list: string, at: Date, id: string): string {
  return encodeCursor(list, at.toISOString(), id);
}

/** The time and id of a page's cursor, made by `encodeTimeCursor`; undefined without one. Throws `invalid_cursor`. */
export function readTimeCursor(
  page: PageRequest,
  list: string,
): { readonly at: Date; readonly id: string } | undefined {
  const key = readPageCursor(page, list, 2);
  if (!key) return undefined;
  const [time = "", id = ""] = key;
  const at = readIsoTime(time);
  if (!at) throw invalidCursorOf(page);
  return { at, id };
}

/** The cursor of a row in a list of the chain's rows. `blockNumber` is decimal. */
export function encodeChainCursor(list: string, blockNumber: string, logIndex: number): string {
  return encodeCursor(list, blockNumber, String(logIndex));
}

/**
 * The block number and log index of a page's cursor in a list of the chain's rows, as statement parameters; without a
 * cursor, those of the end at which the scan begins. Throws `invalid_cursor`.
 */
export function readChainCursor(page: PageRequest, list: string, { order }: Scan): readonly [string, string] {
  const key = readPageCursor(page, list, 2);
  if (!key) return CHAIN_ENDS[order];
  const [block = "", log = ""] = key;
  if (!/^\d{1,18}$/.test(block) || !/^\d{1,9}$/.test(log)) throw invalidCursorOf(page);
  return [block, log];
}

/** The argument with a cursor. */
type CursorParam = "after" | "before";

/** The error for a cursor that no list or event stream issued. */
export function invalidCursor(param: CursorParam = "after", message = INVALID_CURSOR): AppError {
  return new AppError("invalid_cursor", message, { param });
}

/** The error for a page whose cursor has another key than the list's: most are of another list or order. */
export function invalidCursorOf(page: PageRequest): AppError {
  return invalidCursor(paramOf(page), CURSOR_OF_ANOTHER_LIST);
}

function paramOf(page: PageRequest): CursorParam {
  return "last" in page ? "before" : "after";
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
