import { Migration } from "@mikro-orm/migrations";

/**
 * The ledger has one row per transfer of an amount from one book to another, and no index but its key: a request wrote
 * five entries into three indexes. The router's own books, `revenue` and `loss`, and the outside's `deposits-in` are
 * named by the account whose money moved.
 *
 * `ledger_entry` becomes a view of all entries, two per transfer, and of those that earlier versions wrote. Processes of
 * the previous version insert into it during an upgrade.
 */
export class KeepTransfers extends Migration {
  override up(): void {
    this.addSql("alter table ledger_entry rename to earlier_ledger_entry");
    this.addSql(`
      create table ledger_transfer (
        id bigint primary key default nextval('ledger_entry_id_seq'),
        transfer_id text not null,
        from_book text not null,
        to_book text not null,
        account text not null,
        amount numeric(78,0) not null check (amount > 0),
        cause text not null,
        created_at timestamptz(3) not null default now()
      )`);
    this.addSql(`
      create unique index ledger_transfer_deposit on ledger_transfer (transfer_id) where cause = 'deposit'`);
    this.addSql(`
      create trigger ledger_transfer_is_final before update or delete on ledger_transfer
      for each row execute function ledger_entry_is_final()`);
    this.addSql(`
      create view ledger_entry as
      select id, transfer_id, book, account, amount, cause, created_at from earlier_ledger_entry
      union all
      select t.id, t.transfer_id, e.book,
        case e.book when 'revenue' then 'router' when 'loss' then 'router' when 'deposits-in' then 'chain'
          else t.account end,
        e.amount, t.cause, t.created_at
      from ledger_transfer t
      cross join lateral (values (t.from_book, -t.amount), (t.to_book, t.amount)) as e(book, amount)`);
    this.addSql(`
      create function insert_earlier_ledger_entry() returns trigger language plpgsql as $$
      begin
        insert into earlier_ledger_entry (transfer_id, book, account, amount, cause)
        values (new.transfer_id, new.book, new.account, new.amount, new.cause);
        return new;
      end $$`);
    this.addSql(`
      create trigger insert_earlier_ledger_entry instead of insert on ledger_entry
      for each row execute function insert_earlier_ledger_entry()`);
  }
}
