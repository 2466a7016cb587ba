import { Migration } from "@mikro-orm/migrations";

/**
 * What operators see of a deployment: what each process last reported of itself, the last check of the ledger, and the
 * webhooks that fail or were disabled, which are few among all of them. A report is not a lease: it moves no money, and
 * a process without a lease has one, too.
 */
export class ShowOperations extends Migration {
  override up(): void {
    this.addSql(`
      create table process_report (
        id uuid primary key,
        started_at timestamptz(3) not null,
        reported_at timestamptz(3) not null,
        report jsonb not null
      ) with (fillfactor = 70)`);
    this.addSql(`
      create table ledger_check (
        id integer primary key check (id = 1),
        ended_at timestamptz(3) not null,
        duration_ms integer not null,
        is_full boolean not null,
        transfers bigint not null,
        fault_count integer not null,
        faults jsonb not null
      )`);
    this.addSql(
      "create index webhook_failing on webhook (first_failed_at) where disabled_at is null and failures > 0",
    );
    this.addSql("create index webhook_disabled on webhook (disabled_at) where disabled_at is not null");
  }
}
