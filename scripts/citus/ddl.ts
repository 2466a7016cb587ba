import type { Queries } from "../../src/db/database.ts";
import { DISTRIBUTION, type Distribution } from "./distribution.ts";

/** A statement of the DDL, and why it is needed if it changes a table. */
export type Step = { readonly sql: string; readonly why?: string };

type UniqueIndex = {
  readonly table: string;
  readonly name: string;
  readonly constraint: "p" | "u" | null;
  readonly definition: string;
  readonly columns: readonly string[];
};

type ForeignKey = {
  readonly table: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly parent: string;
  readonly parent_columns: readonly string[];
  readonly on_delete: string;
};

/** The tables of a database that `DISTRIBUTION` does not declare, and the declared ones that do not exist. */
export async function findUndeclared(queries: Queries): Promise<readonly string[]> {
  const rows = await queries.rows<{ name: string }>(TABLES);
  const names = new Set(rows.map(({ name }) => name));
  const declared = new Set(Object.keys(DISTRIBUTION));
  const unknown = [...names].filter((name) => !declared.has(name));
  const missing = [...declared].filter((name) => !names.has(name));
  return [...unknown, ...missing].toSorted();
}

/**
 * The statements that make the tables of this database tables of Citus, in an order that applies: columns that are
 * missing, unique indexes and foreign keys with the account, the tables of each kind, and the foreign keys again.
 */
export async function citusSteps(queries: Queries): Promise<readonly Step[]> {
  const indexes = await queries.rows<UniqueIndex>(UNIQUE_INDEXES);
  const foreignKeys = (await queries.rows<ForeignKey>(FOREIGN_KEYS)).filter(
    ({ table, parent }) => columnOf(table) !== undefined && columnOf(parent) !== undefined,
  );
  const entries = Object.entries(DISTRIBUTION);
  return [
    ...foreignKeys.map(({ table, name }) => ({ sql: `alter table ${table} drop constraint ${name}` })),
    ...entries.flatMap(([table, distribution]) => accountColumn(table, distribution)),
    ...indexes.flatMap(withAccount),
    {
      sql: "set citus.enable_unsafe_triggers to on",
      why: "triggers read and write rows of their account only",
    },
    ...entries.flatMap(([table, distribution]) => distribute(table, distribution)),
    ...foreignKeys.map(colocated),
  ];
}

/** The column by which a table is distributed; undefined if it is not. */
function columnOf(table: string): string | undefined {
  const distribution = DISTRIBUTION[table];
  return distribution?.kind === "by" ? distribution.column : undefined;
}

function accountColumn(table: string, distribution: Distribution): readonly Step[] {
  if (distribution.kind !== "by" || !distribution.accountFrom) return [];
  const { table: source, column, key } = distribution.accountFrom;
  return [
    { sql: `alter table ${table} add column account text`, why: `${table} does not name the account` },
    { sql: `update ${table} t set account = s.account from ${source} s where s.${key} = t.${column}` },
    { sql: `alter table ${table} alter column account set not null` },
  ];
}

/** Citus can guarantee that a value is unique only among the rows of one shard. */
function withAccount({ table, name, constraint, definition, columns }: UniqueIndex): readonly Step[] {
  const account = columnOf(table);
  if (account === undefined || columns.includes(account)) return [];
  const why = `${name} is unique per account`;
  if (!constraint)
    return [
      { sql: `drop index ${name}`, why },
      { sql: definition.replace(" USING btree (", ` USING btree (${account}, `) },
    ];
  const kind = constraint === "p" ? "primary key" : "unique";
  return [
    { sql: `alter table ${table} drop constraint ${name}`, why },
    { sql: `alter table ${table} add constraint ${name} ${kind} (${[account, ...columns].join(", ")})` },
  ];
}

function distribute(table: string, distribution: Distribution): readonly Step[] {
  if (distribution.kind === "local") return [];
  if (distribution.kind === "reference") return [{ sql: `select create_reference_table('${table}')` }];
  const colocation = table === "account" ? "none" : "account";
  return [
    {
      sql: `select create_distributed_table('${table}', '${distribution.column}', colocate_with => '${colocation}')`,
    },
  ];
}

function colocated({ table, name, columns, parent, parent_columns, on_delete }: ForeignKey): Step {
  const [child = "", other = ""] = [columnOf(table), columnOf(parent)];
  const isColocated = columns.some((column, n) => column === child && parent_columns[n] === other);
  const [own, theirs] = isColocated
    ? [columns, parent_columns]
    : [
        [child, ...columns],
        [other, ...parent_columns],
      ];
  return {
    sql: `alter table ${table} add constraint ${name} foreign key (${own.join(", ")})
  references ${parent} (${theirs.join(", ")})${on_delete === "c" ? " on delete cascade" : ""}`,
    ...(!isColocated && { why: `${name} stays within the account` }),
  };
}

const TABLES = `
  select c.relname::text as name from pg_class c
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace order by 1`;

const UNIQUE_INDEXES = `
  select t.relname::text as "table", i.relname::text as name, con.contype::text as "constraint",
    pg_get_indexdef(x.indexrelid) as definition,
    array(select a.attname::text from unnest(x.indkey::int2[]) with ordinality as k(number, n)
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number where k.n <= x.indnkeyatts order by k.n) as columns
  from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
  left join pg_constraint con on con.conindid = x.indexrelid and con.contype in ('p', 'u')
  where x.indisunique and t.relnamespace = current_schema()::regnamespace order by 1, 2`;

const FOREIGN_KEYS = `
  select t.relname::text as "table", con.conname::text as name, p.relname::text as parent, con.confdeltype::text as on_delete,
    array(select a.attname::text from unnest(con.conkey) with ordinality as k(number, n)
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number order by k.n) as columns,
    array(select a.attname::text from unnest(con.confkey) with ordinality as k(number, n)
      join pg_attribute a on a.attrelid = p.oid and a.attnum = k.number order by k.n) as parent_columns
  from pg_constraint con join pg_class t on t.oid = con.conrelid join pg_class p on p.oid = con.confrelid
  where con.contype = 'f' and t.relnamespace = current_schema()::regnamespace order by 1, 2`;
