import { Migration } from "@mikro-orm/migrations";

/**
 * Sums of usage per account, key, model and trust mode, for each UTC hour, day and month, so that reading the totals of
 * an account does not take longer as its history grows. `usage_rolled` is the usage number up to which an account's
 * requests are included; later ones are added when sums are read. Nothing is lost with them: `npm run usage:rebuild`.
 */
export class RollUpUsage extends Migration {
  override up(): void {
    this.addSql(`
      create table usage_rolled (
        account text primary key references account (address),
        usage_number bigint not null
      ) with (fillfactor = 50)`);
    this.addSql(`
      create table usage_rollup (
        account text not null references account (address),
        grain text not null check (grain in ('hour', 'day', 'month')),
        starts_at timestamptz not null,
        api_key_id uuid,
        model text not null,
        trust_mode text not null,
        requests bigint not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cached_tokens bigint not null,
        cache_write_tokens bigint not null,
        cache_write_1h_tokens bigint not null,
        cost numeric(78,0) not null,
        first_number bigint not null,
        last_number bigint not null
      ) with (fillfactor = 80)`);
    this.addSql(`
      create unique index usage_rollup_once on usage_rollup (account, grain, starts_at, model, trust_mode, api_key_id)
      nulls not distinct`);
  }
}
