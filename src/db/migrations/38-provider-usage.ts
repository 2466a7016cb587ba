import { Migration } from "@mikro-orm/migrations";

/**
 * Sums of usage per account and provider, for each UTC hour and day, divided by the time to the first byte: `bin` is
 * its bin of a histogram (`src/kernel/latency-bins.ts`), -1 without one. They are added up in the background beside
 * `usage_rollup`, and have a position of their own: earlier requests are added after the migration, which therefore
 * takes no time. Requests that were removed before that are not in them.
 */
export class SumUsageByProvider extends Migration {
  override up(): void {
    this.addSql(`
      create table usage_provider_rolled (
        account text primary key references account (address),
        usage_number bigint not null
      ) with (fillfactor = 50)`);
    this.addSql(`
      create table usage_provider_rollup (
        account text not null references account (address),
        grain text not null check (grain in ('hour', 'day')),
        starts_at timestamptz not null,
        provider text not null,
        bin integer not null,
        requests bigint not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cached_tokens bigint not null,
        cache_write_tokens bigint not null,
        cache_write_1h_tokens bigint not null,
        cost numeric(78,0) not null,
        cache_saving numeric(78,0) not null,
        primary key (account, grain, starts_at, provider, bin)
      ) with (fillfactor = 80)`);
  }
}
