import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { citusSteps, findUndeclared } from "../../../scripts/citus/ddl.ts";
import { DISTRIBUTION } from "../../../scripts/citus/distribution.ts";
import type { Queries } from "../../../src/db/database.ts";
import { createServerDatabase, openPatiently, openTestDatabase } from "../../support/servers/database.ts";

/**
 * Citus' functions as far as its rules go: the distribution column is in each unique index, and foreign keys lead to
 * reference tables, or join the distribution columns of two colocated tables.
 */
const CITUS = `
  create table citus_table (name regclass primary key, distributed_by text);
  create function citus_require(relation regclass) returns void language plpgsql as $$
  declare
    own text := (select distributed_by from citus_table where name = relation);
    fault text;
  begin
    select 'unique index ' || x.indexrelid::regclass into fault from pg_index x
    where own is not null and x.indrelid = relation and x.indisunique and not exists (
      select 1 from pg_attribute a where a.attrelid = relation and a.attname = own
        and a.attnum = any((x.indkey::int2[])[0:x.indnkeyatts - 1])) limit 1;
    if fault is not null then raise exception '% of % lacks the distribution column', fault, relation; end if;
    select c.conname into fault from pg_constraint c
    left join citus_table t on t.name = c.conrelid left join citus_table p on p.name = c.confrelid
    where c.contype = 'f' and relation in (c.conrelid, c.confrelid) and not coalesce(
      case when p.distributed_by is null then p.name is not null
        else exists (select 1 from unnest(c.conkey, c.confkey) as k(own, other)
          join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own and a.attname = t.distributed_by
          join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.other and b.attname = p.distributed_by)
      end, false) limit 1;
    if fault is not null then raise exception 'foreign key % of % leaves the shard', fault, relation; end if;
  end $$;
  create function create_reference_table(relation regclass) returns void language plpgsql as $$
  begin
    insert into citus_table values (relation, null);
    if exists (select 1 from pg_constraint c left join citus_table p on p.name = c.confrelid
      where c.contype = 'f' and c.conrelid = relation and p.name is null)
    then raise exception '% refers to a local table', relation; end if;
  end $$;
  create function create_distributed_table(relation regclass, by_column text, colocate_with text) returns void
  language plpgsql as $$
  begin
    if not exists (select 1 from pg_attribute where attrelid = relation and attname = by_column and attnotnull)
    then raise exception '% has no column % that is never null', relation, by_column; end if;
    if colocate_with <> 'none' and not exists (
      select 1 from citus_table where name = colocate_with::regclass and distributed_by is not null)
    then raise exception '% is not distributed yet', colocate_with; end if;
    insert into citus_table values (relation, by_column);
    perform citus_require(relation);
  end $$;`;

test("every table says where Citus would keep it", async () => {
  expect(await findUndeclared(await openTestDatabase())).toEqual([]);
});

test.skipIf(!inject("postgresUrl"))(
  "the DDL for Citus applies in its order, and keeps unique indexes and foreign keys within an account",
  async () => {
    const url = await createServerDatabase();
    await (await openPatiently(url, 2)).close();
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    const queries: Queries = {
      rows: async <Row>(sql: string, values: readonly unknown[] = []) =>
        (await client.query(sql, [...values])).rows as Row[],
    };
    const steps = await citusSteps(queries);
    await client.query(CITUS);
    for (const { sql } of steps) await client.query(sql);
    await client.query("select citus_require(name) from citus_table");
    const [distributed] = await queries.rows<{ count: number }>(
      "select count(*)::int as count from citus_table where distributed_by is not null",
    );
    const declared = Object.values(DISTRIBUTION).filter(({ kind }) => kind === "by");
    expect(distributed?.count).toBe(declared.length);
  },
);
