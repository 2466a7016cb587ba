import { Migration } from "@mikro-orm/migrations";

/**
 * Images of jobs that are being stored as files. A signed transaction is stored before it is sent, so that it can be
 * sent again but never paid twice. Only the process that holds the lease sends.
 */
export class StoreImages extends Migration {
  override up(): void {
    this.addSql(`
      create table image_file (
        job_id uuid not null references job (id) on delete cascade,
        ordinal integer not null,
        root text not null,
        state text not null default 'waiting' check (state in ('waiting', 'stored', 'failed')),
        failures integer not null default 0,
        transaction_raw text,
        transaction_hash text,
        next_try timestamptz not null default now(),
        primary key (job_id, ordinal)
      )`);
    this.addSql("create index image_file_waiting on image_file (next_try) where state = 'waiting'");
    this.addSql(
      "create table image_file_lease (id boolean primary key default true check (id), holder uuid, until timestamptz)",
    );
    this.addSql("insert into image_file_lease default values");
    this.addSql(
      "create index job_completed_image on job (finished_at) where state = 'completed' and kind = 'image'",
    );
  }
}
