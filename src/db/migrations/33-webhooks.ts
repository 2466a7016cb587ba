import { Migration } from "@mikro-orm/migrations";

/**
 * Webhooks: where events of an account are delivered. A webhook has a cursor in the outbox (`position`) and no row per
 * event: every event up to it was delivered or does not concern the webhook. `pending_position` is that of the newest
 * event for it that was found, so it has work while that is greater; `waiting_position` and `waiting_since` are those of
 * the oldest, where known. Keys whose account got notice of their spending have a row, without foreign keys, whose
 * locks would wait for settlements. Secrets are not stored: they are derived from the id and `secret_version`.
 */
export class CreateWebhooks extends Migration {
  override up(): void {
    this.addSql(`
      create table webhook (
        id uuid primary key,
        account text not null references account (address),
        name text not null,
        url text not null,
        events jsonb not null,
        topics jsonb not null,
        balance_threshold numeric(78,0) check (balance_threshold >= 0),
        is_below boolean not null default false,
        secret_version integer not null default 1,
        previous_secret_until timestamptz(3),
        created_at timestamptz(3) not null,
        disabled_at timestamptz(3),
        disabled_reason text check (disabled_reason in ('owner', 'failing', 'gone', 'expired')),
        position bigint not null,
        pending_position bigint not null default 0,
        waiting_position bigint,
        waiting_since timestamptz(3),
        sequence bigint not null default 0,
        failures integer not null default 0,
        first_failed_at timestamptz(3),
        next_attempt_at timestamptz(3) not null,
        is_slow boolean not null default false,
        attempts bigint not null default 0,
        fence integer not null default 0,
        leased_until timestamptz,
        check ((disabled_at is null) = (disabled_reason is null))
      )`);
    this.addSql("create index webhook_account on webhook (account, created_at, id)");
    this.addSql(`
      create index webhook_due on webhook (next_attempt_at)
      where disabled_at is null and pending_position > position`);
    this.addSql(`
      create table webhook_attempt (
        webhook_id uuid not null references webhook (id) on delete cascade,
        number bigint not null,
        event_id text not null,
        event text not null,
        sequence bigint not null,
        at timestamptz(3) not null,
        duration_ms integer not null,
        status integer,
        failure text,
        primary key (webhook_id, number)
      )`);
    this.addSql(`
      create table key_limit_notice (
        api_key_id uuid primary key,
        account text not null,
        period_start timestamptz not null,
        credit_limit numeric(78,0) not null,
        percent integer not null,
        used numeric(78,0) not null
      )`);
    this.addSql("create table webhook_scan (position bigint not null)");
    this.addSql(
      "insert into webhook_scan select coalesce(max(position), 0) from outbox where position is not null",
    );
    this.addSql(
      "comment on table webhook_scan is 'the position in the outbox up to which events were matched with webhooks'",
    );
  }
}
