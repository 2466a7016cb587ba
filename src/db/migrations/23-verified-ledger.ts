import { Migration } from "@mikro-orm/migrations";

/**
 * What `npm run ledger:verify` has verified: the books of each account as the sums of its entries up to a transfer, and
 * what the requests of each key cost. The next verification reads only later transfers. While `verified_at` is null, the
 * verification `run` of all of it has not ended. If these tables are lost, the next verification fills them again.
 */
export class KeepVerifiedLedger extends Migration {
  override up(): void {
    this.addSql(`
      create table ledger_verification (
        id integer primary key check (id = 1),
        transfer_id bigint not null,
        earlier_entry_id bigint not null,
        run uuid not null,
        verified_at timestamptz(3)
      )`);
    this.addSql(`
      create table verified_account (
        account text primary key,
        transfer_id bigint not null,
        deposit numeric(78,0) not null,
        credit numeric(78,0) not null,
        held numeric(78,0) not null
      )`);
    this.addSql("create table verified_key (api_key_id uuid primary key, cost numeric(78,0) not null)");
  }
}
