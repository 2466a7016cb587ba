import {
  encodeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  toPage,
} from "../../kernel/page.ts";

/** A row of a contract's list, and the cursor after which the list continues. */
export type Listed<T> = T & { readonly cursor: string };

/** The page limit of the direct path's contracts (facts: router-and-chain 2). */
const CONTRACT_PAGE = 50;

/**
 * A page of a list that a contract returns by offset and limit; `list` is its name in its cursors. These are positions:
 * when the contract moves rows, a row may appear twice or not at all, as for any reader. Throws `invalid_parameter` and
 * `invalid_cursor`.
 */
export async function readOffsetPage<T extends object>(
  list: string,
  page: PageRequest,
  read: (offset: bigint, limit: bigint) => Promise<{ readonly rows: readonly T[]; readonly total: bigint }>,
): Promise<Page<Listed<T>>> {
  const limit = pageLimit(page);
  const from = positionOf(list, page);
  const end = "last" in page ? (from ?? Number((await read(0n, 1n)).total)) : (from ?? -1) + 1 + limit;
  const start = Math.max(0, end - limit);
  const rows: Listed<T>[] = [];
  for (let total = Number.POSITIVE_INFINITY; start + rows.length < Math.min(end, total); ) {
    const offset = start + rows.length;
    const found = await read(BigInt(offset), BigInt(Math.min(CONTRACT_PAGE, end - offset)));
    rows.push(
      ...found.rows.map((row, index) => ({ ...row, cursor: encodeCursor(list, String(offset + index)) })),
    );
    // A contract that reports a growing total without rows would never end the loop.
    total = found.rows.length === 0 ? 0 : Number(found.total);
  }
  return toPage("last" in page ? rows.reverse() : rows, page);
}

function positionOf(list: string, page: PageRequest): number | undefined {
  const key = readPageCursor(page, list, 1);
  if (!key) return undefined;
  const [text = ""] = key;
  if (!/^\d{1,9}$/.test(text)) throw invalidCursorOf(page);
  return Number(text);
}
