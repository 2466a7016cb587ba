import { Migration } from "@mikro-orm/migrations";

/**
 * Months whose requests or transfers were archived and removed. `hash` is over the previous month's hash and the content
 * of the archive; `totals` are the sums of its rows. The archive is complete before its row is written; `removed_count`
 * is how many of its rows, in their order, are removed.
 *
 * `ledger_opening` has what the removed transfers sum to, per account and book. A trigger adds to it in the statement
 * that deletes transfers, and lets only those of an archived month go: the ledger sums to the same at any time. They are
 * entries of the view `ledger_entry`. `removed_usage` has the same of the removed requests, per key.
 */
export class CloseMonths extends Migration {
  override up(): void {
    this.addSql(`
      create table closed_month (
        kind text not null check (kind in ('requests', 'ledger')),
        month date not null,
        ends_at timestamptz not null,
        state text not null check (state in ('removing', 'closed')),
        archive text not null,
        row_count bigint not null,
        removed_count bigint not null default 0 check (removed_count between 0 and row_count),
        size_bytes bigint not null,
        content_hash text not null,
        previous_hash text not null,
        hash text not null,
        totals jsonb not null,
        archived_at timestamptz(3) not null default now(),
        closed_at timestamptz(3),
        primary key (kind, month)
      )`);
    this.addSql(`
      create table retention_lease (
        id integer primary key check (id = 1),
        process_id uuid not null,
        expires_at timestamptz not null
      )`);
    this.addSql(`
      create table ledger_opening (
        account text not null,
        book text not null,
        amount numeric(78,0) not null,
        updated_at timestamptz(3) not null default now(),
        primary key (account, book)
      )`);
    this.addSql(`
      create table removed_usage (
        account text not null,
        api_key_id uuid,
        requests bigint not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cost numeric(78,0) not null
      )`);
    this.addSql(`
      create unique index removed_usage_once on removed_usage (account, api_key_id) nulls not distinct`);
    this.addSql(`
      create or replace view ledger_entry as
      select id, transfer_id, book, account, amount, cause, created_at from earlier_ledger_entry
      union all
      select t.id, t.transfer_id, e.book,
        case e.book when 'revenue' then 'router' when 'loss' then 'router' when 'deposits-in' then 'chain'
          else t.account end,
        e.amount, t.cause, t.created_at
      from ledger_transfer t
      cross join lateral (values (t.from_book, -t.amount), (t.to_book, t.amount)) as e(book, amount)
      union all
      select 0, 'opening:' || o.account, o.book,
        case when o.book in ('revenue', 'loss') then 'router' else o.account end, o.amount, 'opening', o.updated_at
      from ledger_opening o where o.amount <> 0`);
    this.addSql(`
      create function open_with_removed_transfers() returns trigger language plpgsql as $$
      begin
        if exists (
          select 1 from removed r where r.cause = 'deposit' or not exists (
            select 1 from closed_month c
            where c.kind = 'ledger' and c.state = 'removing' and r.created_at < c.ends_at)
        ) then
          raise exception 'a ledger entry is never changed';
        end if;
        insert into ledger_opening as o (account, book, amount)
        select r.account, e.book, sum(e.amount)
        from removed r
        cross join lateral (values (r.from_book, -r.amount), (r.to_book, r.amount)) as e(book, amount)
        group by r.account, e.book
        on conflict (account, book) do update set amount = o.amount + excluded.amount, updated_at = now();
        return null;
      end $$`);
    this.addSql(`
      create trigger open_with_removed_transfers after delete on ledger_transfer
      referencing old table as removed for each statement execute function open_with_removed_transfers()`);
    this.addSql(`
      create or replace trigger ledger_transfer_is_final before update on ledger_transfer
      for each row execute function ledger_entry_is_final()`);
    // A closed month is a small part of a table that keeps many: vacuum must not wait for a fifth of it.
    for (const table of ["inference_request", "ledger_transfer", "hold", "request_evidence", "job"])
      this.addSql(`alter table ${table} set (autovacuum_vacuum_scale_factor = 0.05)`);
  }
}
