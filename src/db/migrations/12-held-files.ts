import { Migration } from "@mikro-orm/migrations";

/**
 * What our own storage node has on disk. A file is identified by its root and its padded size in sectors, since a root
 * alone determines neither how the file is cut into segments nor their positions. `segments` is set when the last one
 * has arrived; `unsubmitted_since` is set while the chain has no submission of the file.
 */
export class HoldFiles extends Migration {
  override up(): void {
    this.addSql(`
      create table held_file (
        id bigint generated always as identity primary key,
        root text not null,
        sectors bigint not null check (sectors > 0),
        claimed_bytes bigint not null,
        segments integer,
        uploaded integer not null default 0,
        bytes bigint not null default 0,
        complete_at timestamptz(3),
        unsubmitted_since timestamptz(3),
        created_at timestamptz(3) not null default now(),
        unique (root, sectors)
      )`);
    this.addSql(
      "create index held_file_unsubmitted on held_file (unsubmitted_since) where unsubmitted_since is not null",
    );
    this.addSql(`
      create table held_segment (
        file_id bigint not null references held_file (id) on delete cascade,
        index integer not null check (index >= 0),
        bytes integer not null,
        primary key (file_id, index)
      )`);
    this.addSql(`
      create table held_bytes (
        single boolean primary key default true check (single),
        bytes bigint not null default 0,
        unsubmitted bigint not null default 0
      )`);
    this.addSql("insert into held_bytes default values");
  }
}
