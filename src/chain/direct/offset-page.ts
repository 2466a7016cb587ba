import {
  decodeCursor,
  encodeCursor,
  invalidCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../../kernel/page.ts";

/** A row of a contract's list, and the cursor after which the list continues. */
export type Listed<T> = T & { readonly cursor: string };

/** The page limit of the direct path's contracts (facts: router-and-chain 2). */
const CONTRACT_PAGE = 50;

/**
 * A page of a list that a contract returns by offset and limit. Its cursors are positions: when the contract moves
 * rows, a row may appear twice or not at all, as for any reader. Throws `invalid_parameter` and `invalid_cursor`.
 */
export async function readOffsetPage<T extends object>(
  page: PageRequest,
  read: (offset: bigint, limit: bigint) => Promise<{ readonly rows: readonly T[]; readonly total: bigint }>,
): Promise<Page<Listed<T>>> {
  const pageSize = pageLimit(page);
  const start = page.after === undefined ? 0 : positionOf(page.after) + 1;
  const rows: Listed<T>[] = [];
  for (let total = Number.POSITIVE_INFINITY; rows.length < pageSize && start + rows.length < total; ) {
    const offset = start + rows.length;
    const limit = Math.min(CONTRACT_PAGE, pageSize - rows.length);
    const found = await read(BigInt(offset), BigInt(limit));
    rows.push(...found.rows.map((row, index) => ({ ...row, cursor: encodeCursor(String(offset + index)) })));
    // A contract that reports a growing total without rows would never end the loop.
    total = found.rows.length === 0 ? 0 : Number(found.total);
  }
  return toPage(rows, page);
}

function positionOf(cursor: string): number {
  const [text = ""] = decodeCursor(cursor, 1);
  if (!/^\d{1,9}$/.test(text)) throw invalidCursor();
  return Number(text);
}
