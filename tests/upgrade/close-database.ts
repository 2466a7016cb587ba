import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PGlite } from "@electric-sql/pglite";
import { pgDump } from "@electric-sql/pglite-tools/pg_dump";
import { LEDGER_TOTALS, type LedgerTotals } from "./fixture.ts";

/** Tables that a release may leave empty: they have rows for a moment, or only after a reorganisation. */
const MAY_BE_EMPTY = ["outbox_forgotten", "image_file", "image_file_lease"];

/**
 * Reads a stopped release's embedded database with the release's own PGlite, and leaves the folder as after a
 * clean stop, without the write-ahead log before it. Throws if a table is empty that should not be.
 */
export async function closeDatabase(checkout: string, folder: string) {
  const module = createRequire(join(checkout, "package.json")).resolve("@electric-sql/pglite");
  const { PGlite: Release } = (await import(pathToFileURL(module).href)) as { PGlite: typeof PGlite };
  const pglite = await Release.create({ dataDir: folder });
  await requireFilled(pglite);
  const { rows } = await pglite.query<{ name: string }>("select name from mikro_orm_migrations order by id");
  const ledger = await ledgerTotals(pglite);
  const args = ["--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", "--schema=public"];
  const sql = await (await pgDump({ pg: pglite, args })).text();
  // A new segment of the log, and none before it.
  await pglite.exec("set wal_recycle = off; checkpoint; select pg_switch_wal(); checkpoint;");
  await pglite.close();
  return { migrations: rows.map(({ name }) => name), ledger, sql };
}

async function requireFilled(pglite: PGlite): Promise<void> {
  const tables = await pglite.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const empty: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await pglite.query(`select 1 from "${name}" limit 1`);
    if (rows.length === 0 && !MAY_BE_EMPTY.includes(name)) empty.push(name);
  }
  if (empty.length > 0) throw new Error(`nothing was filled into ${empty.join(", ")}`);
}

async function ledgerTotals(pglite: PGlite): Promise<LedgerTotals> {
  type Row = { book: string; neuron: string; last: string };
  const { rows } = await pglite.query<Row>(LEDGER_TOTALS, [null]);
  const lastId = rows.map(({ last }) => BigInt(last)).reduce((one, other) => (one > other ? one : other));
  return {
    lastId: String(lastId),
    books: Object.fromEntries(rows.map(({ book, neuron }) => [book, neuron])),
  };
}
