import type { Queries } from "../../../src/db/database.ts";

/** The initial content of a migrated database: its tables, and rows in some of them. */
export type Pristine = { readonly tables: readonly string[]; readonly seeds: readonly Seed[] };
type Seed = { readonly name: string; readonly rows: string };

/** Records the content of a new database. */
export async function readPristine(queries: Queries): Promise<Pristine> {
  const tables = await tablesOf(queries);
  const selects = tables.map(
    (name) => `select '${name}' as name, json_agg(t)::text as rows from ${name} t having count(*) > 0`,
  );
  return { tables, seeds: await queries.rows<Seed>(selects.join(" union all ")) };
}

/**
 * PostgreSQL assumes ten pages for a new table. It assumes the same for one of at most this size that was never
 * analyzed, whatever was deleted from it.
 */
const SMALL_BYTES = 10 * 8_192;

/**
 * Restores a used database to its initial content, which takes a hundredth of the time of a new one. False if a
 * test has added tables.
 */
export async function emptied(queries: Queries, { tables, seeds }: Pristine): Promise<boolean> {
  if ((await tablesOf(queries)).join() !== tables.join()) return false;
  const checks = tables.map(
    (name) => `select '${name}' as name, pg_relation_size(oid) <= ${SMALL_BYTES} and reltuples < 0 as small
      from pg_class where oid = '${name}'::regclass and exists (select 1 from ${name})`,
  );
  const used = await queries.rows<{ name: string; small: boolean }>(checks.join(" union all "));
  const small = used.filter((table) => table.small).map(({ name }) => name);
  const large = used.filter((table) => !table.small).map(({ name }) => name);
  // `truncate` creates new files for a table and each of its indexes, which takes as long as deleting thousands of rows.
  if (large.length > 0) await queries.rows(`truncate ${large.join(", ")} cascade`);
  await deleteAll(queries, small);
  for (const { name, rows } of seeds)
    await queries.rows(
      `insert into ${name} select * from json_populate_recordset(null::${name}, '${rows}'::json)`,
    );
  await queries.rows(`
    select setval(format('%I', sequencename)::regclass, start_value, false)
    from pg_sequences where schemaname = 'public' and last_value is not null`);
  return true;
}

/** Deletes every row of the tables, in any order: foreign keys are not checked meanwhile. */
async function deleteAll(queries: Queries, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return;
  await queries.rows("set session_replication_role = replica");
  try {
    for (const name of tables) await queries.rows(`delete from ${name}`);
  } finally {
    await queries.rows("reset session_replication_role");
  }
}

async function tablesOf(queries: Queries): Promise<readonly string[]> {
  const rows = await queries.rows<{ name: string }>(`
    select format('%I', tablename) as name from pg_tables
    where schemaname = 'public' and tablename <> 'mikro_orm_migrations' order by tablename`);
  return rows.map(({ name }) => name);
}
