import { Migration } from "@mikro-orm/migrations";

/**
 * The outbox. A row is written in the transaction that causes it, without a position. One relay at a time assigns
 * positions, to committed rows only, so a reader that has seen position p has missed nothing before it. A row enters
 * the replay indexes only with its position, so the hot path that writes it pays for two small indexes.
 */
export class CreateEvents extends Migration {
  override up(): void {
    this.addSql(`
      create table outbox (
        id bigserial primary key,
        event_id uuid not null default gen_random_uuid(),
        position bigint,
        topic text not null,
        subject text not null,
        data jsonb not null,
        at timestamptz not null default now()
      )`);
    this.addSql("create sequence outbox_position");
    this.addSql("create index outbox_unpublished on outbox (id) where position is null");
    this.addSql("create unique index outbox_published on outbox (position) where position is not null");
    this.addSql("create index outbox_topic on outbox (topic, position) where position is not null");
    this.addSql(
      "create index outbox_subject on outbox (topic, subject, position) where position is not null",
    );
    this.addSql("create table outbox_forgotten (topic text primary key, position bigint not null)");
    this.addSql(
      "comment on table outbox_forgotten is 'the newest position that retention has deleted, by topic'",
    );
  }
}
