import {
  decodeCursor,
  encodeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../../kernel/page.ts";

/** A row of a contract's list, and where the list goes on after it. */
export type Listed<T> = T & { readonly cursor: string };

/** No contract of the direct path gives more rows at once (facts: router-and-chain 2). */
const CONTRACT_PAGE = 50;

/**
 * A page of a list that a contract gives by offset and limit. Its cursors are positions: when the contract moves rows,
 * one may come twice or not at all, as for everyone who reads it. Throws `invalid_parameter` and `invalid_cursor`.
 */
export async function readOffsetPage<T extends object>(
  page: PageRequest,
  read: (offset: bigint, limit: bigint) => Promise<{ readonly rows: readonly T[]; readonly total: bigint }>,
): Promise<Page<Listed<T>>> {
  const wanted = pageLimit(page);
  const start = page.after === undefined ? 0 : positionOf(page.after) + 1;
  const rows: Listed<T>[] = [];
  for (let total = Number.POSITIVE_INFINITY; rows.length < wanted && start + rows.length < total; ) {
    const offset = start + rows.length;
    const limit = Math.min(CONTRACT_PAGE, wanted - rows.length);
    const found = await read(BigInt(offset), BigInt(limit));
    rows.push(...found.rows.map((row, index) => ({ ...row, cursor: encodeCursor(String(offset + index)) })));
    // A total that grows while nothing comes would never end.
    total = found.rows.length === 0 ? 0 : Number(found.total);
  }
  return toPage(rows, page);
}

function positionOf(cursor: string): number {
  const [text = ""] = decodeCursor(cursor, 1);
  if (!/^\d{1,9}$/.test(text)) decodeCursor("", 1);
  return Number(text);
}
