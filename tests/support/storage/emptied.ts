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
 * Restores a used database to its initial content, which takes a tenth of the time of a new one. False if a
 * test has added tables.
 */
export async function emptied(queries: Queries, { tables, seeds }: Pristine): Promise<boolean> {
  if ((await tablesOf(queries)).join() !== tables.join()) return false;
  const checks = tables.map((name) => `select '${name}' as name where exists (select 1 from ${name})`);
  const used = await queries.rows<{ name: string }>(checks.join(" union all "));
  if (used.length > 0) await queries.rows(`truncate ${used.map(({ name }) => name).join(", ")} cascade`);
  for (const { name, rows } of seeds)
    await queries.rows(
      `insert into ${name} select * from json_populate_recordset(null::${name}, '${rows}'::json)`,
    );
  await queries.rows(`
    select setval(format('%I', sequencename)::regclass, start_value, false)
    from pg_sequences where schemaname = 'public' and last_value is not null`);
  return true;
}

async function tablesOf(queries: Queries): Promise<readonly string[]> {
  const rows = await queries.rows<{ name: string }>(`
    select format('%I', tablename) as name from pg_tables
    where schemaname = 'public' and tablename <> 'mikro_orm_migrations' order by tablename`);
  return rows.map(({ name }) => name);
}
