import { Migration } from "@mikro-orm/migrations";

const SUMS = [
  "requests",
  "cost",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
] as const;

/** SQL that recomputes the days that `touched` names from the rows of `usage_rollup`. */
const remake = (touched: string) => `
  insert into usage_day as d (account, starts_at, usage)
  select m.account, m.starts_at,
    json_agg(json_build_array(m.model, m.trust_mode, ${SUMS.map((name) => `m.${name}`).join(", ")})
      order by m.model collate "C", m.trust_mode)
  from (
    select r.account, r.starts_at, r.model, r.trust_mode,
      ${SUMS.map((name) => `sum(r.${name})::text as ${name}`).join(", ")}
    from (${touched}) t
    join usage_rollup r on r.account = t.account and r.grain = 'day' and r.starts_at = t.starts_at
    group by 1, 2, 3, 4
  ) as m group by 1, 2
  on conflict (account, starts_at) do update set usage = excluded.usage`;

const daysOf = (table: string) => `select distinct account, starts_at from ${table} where grain = 'day'`;

/**
 * The usage of each account on each UTC day as one value: a list of a model, a trust mode and their sums. Usage by day
 * then reads one row a day, however many keys and models there are. It is made of the daily sums of `usage_rollup`, by
 * the statement that changes these, also in a process of the previous version.
 */
export class ListUsageDays extends Migration {
  override up(): void {
    this.addSql(`
      create table usage_day (
        account text not null references account (address),
        starts_at timestamptz not null,
        usage json not null,
        primary key (account, starts_at)
      ) with (fillfactor = 80)`);
    this.addSql(remake(daysOf("usage_rollup")));
    this.addSql(`
      create function list_usage_days() returns trigger language plpgsql as $$
      begin
        if tg_op = 'DELETE' then
          delete from usage_day d using (${daysOf("changed")}) t
          where d.account = t.account and d.starts_at = t.starts_at;
        end if;
        ${remake(daysOf("changed"))};
        return null;
      end $$`);
    for (const [event, rows] of Object.entries({ insert: "new", update: "new", delete: "old" }))
      this.addSql(`
        create trigger list_usage_days_on_${event} after ${event} on usage_rollup
        referencing ${rows} table as changed for each statement execute function list_usage_days()`);
  }
}
