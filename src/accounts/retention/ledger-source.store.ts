import type { Queries } from "../../db/database.ts";
import {
  type ArchivedRow,
  type ClosingSource,
  columnsOf,
  countByMonth,
  recordOf,
  selectOf,
} from "./closing-source.ts";

/** A slice is read or removed in some 20 ms. */
const SLICE = 2_000;

/**
 * Transfers are archived in the order of their ids. An id is taken at most a statement's time before the commit, so a
 * slice of transfers that were all made an hour later is after the last one of a month.
 *
 * Deposits stay: their transfers make it impossible to credit one twice.
 */
export const LEDGER_SOURCE: ClosingSource = {
  kind: "ledger",
  first: "0",
  async oldest(queries) {
    const [row] = await queries.rows<{ at: string }>(OLDEST);
    return row && new Date(row.at);
  },
  columns: (queries) => columnsOf(queries, "ledger_transfer", "t"),
  async read(queries, columns, position, before) {
    const rows = await queries.rows<ArchivedRow & { is_due: boolean; is_past: boolean }>(
      `select ${selectOf(columns)}, t.created_at < $2::timestamptz and t.cause <> 'deposit' as is_due,
         t.created_at >= $2::timestamptz + interval '1 hour' as is_past
       from ledger_transfer t where t.id > $1::bigint order by t.id limit ${SLICE}`,
      [position, before.toISOString()],
    );
    const isLast = rows.length < SLICE || rows.every((row) => row.is_past);
    return {
      records: rows.filter((row) => row.is_due).map((row) => recordOf(columns, row)),
      next: isLast ? undefined : (rows.at(-1)?.id ?? undefined),
    };
  },
  countRows: (queries, before) => countByMonth(queries, TIMES, before),
  amounts({ from_book: from, to_book: to, amount }) {
    return [
      [from ?? "", -BigInt(amount ?? 0)],
      [to ?? "", BigInt(amount ?? 0)],
    ];
  },
  async remove(tx, keys, before) {
    return (await tx.rows(REMOVE, [JSON.stringify(keys), before.toISOString()])).length;
  },
  async removedTotals(queries) {
    const rows = await queries.rows<{ book: string; amount: string }>(OPENINGS);
    return Object.fromEntries(rows.map(({ book, amount }) => [book, BigInt(amount)]));
  },
};

/** The opening balances, by account and book as `account book`. */
export async function readOpenings(queries: Queries): Promise<ReadonlyMap<string, bigint>> {
  const rows = await queries.rows<{ name: string; amount: string }>(
    "select account || ' ' || book as name, amount::text as amount from ledger_opening where amount <> 0",
  );
  return new Map(rows.map(({ name, amount }) => [name, BigInt(amount)]));
}

const OLDEST = "select created_at as at from ledger_transfer where cause <> 'deposit' order by id limit 1";

const TIMES =
  "select created_at as at from ledger_transfer where cause <> 'deposit' and created_at < $1::timestamptz";

const OPENINGS = "select book, sum(amount)::text as amount from ledger_opening group by book";

// A trigger adds what is deleted to the opening balances.
const REMOVE = `
  delete from ledger_transfer
  where id = any(array(select value::bigint from jsonb_array_elements_text($1::jsonb))) and created_at < $2::timestamptz
  returning id`;
