import type { Queries } from "../../db/database.ts";
import type { Totals } from "./closed-months.store.ts";
import type { CsvRecord } from "./csv.ts";
import type { ClosingKind, Month } from "./months.ts";

/** One record of an archive, by column. */
export type ArchivedRow = Readonly<Record<string, string | null>>;

/** The next rows to archive, and where the following ones begin; undefined after the last ones. */
export type Slice = { readonly records: readonly CsvRecord[]; readonly next: string | undefined };

/** How the rows of one kind are archived and removed. */
export type ClosingSource = {
  readonly kind: ClosingKind;
  /** Where the table begins. */
  readonly first: string;
  /** The time of the oldest row; undefined if there is none. */
  oldest(queries: Queries): Promise<Date | undefined>;
  /** The columns of the archive, as SQL that reads them as text; the first one is the key. */
  columns(queries: Queries): Promise<readonly Column[]>;
  /** The rows from `position` on, of a bounded slice of the table, that belong to months before `before`. */
  read(queries: Queries, columns: readonly Column[], position: string, before: Date): Promise<Slice>;
  /** How many rows of each month before `before` would be archived; a request may not be yet. */
  countRows(
    queries: Queries,
    before: Date,
  ): Promise<readonly { readonly month: Month; readonly rows: number }[]>;
  /** What is summed over the rows of an archive, by name. */
  amounts(row: ArchivedRow): readonly (readonly [string, bigint])[];
  /** Removes rows by their keys, and adds them to the sums of removed rows. Returns how many it found. */
  remove(tx: Queries, keys: readonly string[], before: Date): Promise<number>;
  /** The sums of all removed rows, by the names of `amounts`. */
  removedTotals(queries: Queries): Promise<Totals>;
};

/** A column of an archive. */
export type Column = { readonly name: string; readonly sql: string };

/** The columns of a table, whose rows are `row` in SQL, as text that does not depend on the settings of a connection. */
export async function columnsOf(queries: Queries, table: string, row: string): Promise<readonly Column[]> {
  const columns = await readColumns(queries, table);
  return columns.map(({ name, isTime }) => ({
    name,
    sql: isTime ? timeOf(`${row}.${name}`) : `${row}.${name}::text`,
  }));
}

/** A column for a whole row of a table, as JSON in which times are those of `columnsOf`; null where there is no row. */
export async function rowColumn(
  queries: Queries,
  { name, table, row }: { readonly name: string; readonly table: string; readonly row: string },
): Promise<Column> {
  const times = (await readColumns(queries, table))
    .filter(({ isTime }) => isTime)
    .map((column) => `'${column.name}', ${timeOf(`${row}.${column.name}`)}`);
  return { name, sql: `(to_jsonb(${row}) || jsonb_build_object(${times.join(", ")}))::text` };
}

async function readColumns(
  queries: Queries,
  table: string,
): Promise<readonly { readonly name: string; readonly isTime: boolean }[]> {
  const columns = await queries.rows<{ name: string; type: string }>(COLUMNS, [table]);
  return columns.map(({ name, type }) => ({ name, isTime: type.startsWith("timestamp") }));
}

const timeOf = (value: string) => `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** SQL for a list of columns. */
export function selectOf(columns: readonly Column[]): string {
  return columns.map(({ name, sql }) => `${sql} as ${name}`).join(", ");
}

/** A row of `selectOf` as a record. */
export function recordOf(columns: readonly Column[], row: ArchivedRow): CsvRecord {
  return columns.map(({ name }) => row[name] ?? null);
}

/** Runs a statement whose rows are times of rows before `$1`, and counts them by month. */
export async function countByMonth(
  queries: Queries,
  times: string,
  before: Date,
): Promise<readonly { readonly month: Month; readonly rows: number }[]> {
  const counts = await queries.rows<{ month: Month; rows: string }>(
    `select to_char(at at time zone 'UTC', 'YYYY-MM') as month, count(*)::text as rows
     from (${times}) as t group by 1 order by 1`,
    [before.toISOString()],
  );
  return counts.map(({ month, rows }) => ({ month, rows: Number(rows) }));
}

const COLUMNS = `
  select quote_ident(attname) as name, format_type(atttypid, null) as type from pg_attribute
  where attrelid = $1::text::regclass and attnum > 0 and not attisdropped order by attnum`;
