import { Migration } from "@mikro-orm/migrations";

/**
 * What the processes observed of each provider's model in each UTC hour, for 30 days: its requests, those that failed,
 * and the times to the first byte with their histogram: `bins[n + 1]` counts those of bin n
 * (`src/kernel/latency-bins.ts`).
 */
export class KeepProviderHours extends Migration {
  override up(): void {
    this.addSql(`
      create table provider_hour (
        provider text not null,
        model text not null,
        starts_at timestamptz not null,
        requests bigint not null,
        failures bigint not null,
        first_bytes bigint not null,
        first_byte_ms bigint not null,
        bins bigint[] not null,
        primary key (provider, model, starts_at)
      ) with (fillfactor = 70)`);
    this.addSql("create index provider_hour_age on provider_hour (starts_at)");
  }
}
