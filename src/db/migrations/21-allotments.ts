import { Migration } from "@mikro-orm/migrations";

/**
 * Allotments: an amount of one account's money, for one key, that one process may spend without asking again. They are
 * part of `held` of the account and of the key, as open holds are. A process holds them while its lease lasts.
 *
 * `allotment_id` of a running request names the allotment that pays for it, so that the request ends with a process
 * that died; it stays null in a request that is recorded at its end.
 */
export class AllotMoney extends Migration {
  override up(): void {
    this.addSql("create table process_lease (id uuid primary key, expires_at timestamptz not null)");
    this.addSql(`
      create table allotment (
        id uuid primary key,
        process_id uuid not null references process_lease (id),
        account text not null,
        api_key_id uuid not null,
        amount numeric(78,0) not null check (amount >= 0),
        from_credit numeric(78,0) not null check (from_credit >= 0 and from_credit <= amount),
        state text not null check (state in ('open', 'recalled', 'closed')),
        unique (process_id, api_key_id)
      ) with (fillfactor = 50)`);
    this.addSql("create index allotment_account on allotment (account)");
    this.addSql("create index allotment_api_key on allotment (api_key_id)");
    this.addSql("alter table inference_request add column allotment_id uuid");
    this.addSql(`
      create index inference_request_of_allotment on inference_request (allotment_id)
      where allotment_id is not null and status = 'running'`);
    // Rolls back a statement that finds a request settled, with an SQLSTATE that tells what to do then.
    this.addSql(`
      create function refuse_settlement(code text) returns boolean language plpgsql as
      $$ begin raise exception 'a request was settled before' using errcode = code; end $$`);
  }
}
