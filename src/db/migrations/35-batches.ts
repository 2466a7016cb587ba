import { Migration } from "@mikro-orm/migrations";

/**
 * Batches of inference requests and the files of their requests and answers. A file is a list of encrypted parts, in
 * the order of `n`; the answers of a batch are written to its output file as they are settled, each in the transaction
 * that bills it. A batch is a job without a request of its own: each of its lines has one. `lines` counts all of its
 * lines, `completed` and `failed` those that have ended.
 */
export class CreateBatches extends Migration {
  override up(): void {
    this.addSql("alter table job alter column request_id drop not null");
    this.addSql(`
      create table client_file (
        id uuid primary key,
        account text not null references account (address),
        api_key_id uuid not null references api_key (id),
        purpose text not null check (purpose in ('batch', 'batch_output')),
        filename text not null,
        state text not null check (state in ('writing', 'ready', 'deleted')),
        size_bytes bigint not null check (size_bytes >= 0),
        sealed_key bytea not null,
        created_at timestamptz(3) not null default now(),
        expires_at timestamptz(3) not null
      )`);
    this.addSql("create index client_file_account on client_file (account, created_at, id)");
    this.addSql("create index client_file_age on client_file (expires_at)");
    this.addSql(`
      create table client_file_part (
        file_id uuid not null references client_file (id) on delete cascade,
        n bigint not null,
        bytes bytea not null,
        primary key (file_id, n)
      )`);
    // Encrypted bytes cannot be compressed.
    this.addSql("alter table client_file_part alter column bytes set storage external");
    this.addSql(`
      create table batch (
        id uuid primary key references job (id) on delete cascade,
        endpoint text not null,
        input_file_id uuid not null,
        output_file_id uuid not null,
        error_file_id uuid not null,
        status text not null check (status in ('validating', 'failed', 'in_progress', 'finalizing', 'completed',
          'expired', 'cancelling', 'cancelled')),
        end_reason jsonb,
        metadata jsonb,
        errors jsonb not null default '[]',
        lines integer not null default 0,
        completed integer not null default 0,
        failed integer not null default 0,
        times jsonb not null default '{}',
        check (completed + failed <= lines)
      )`);
    this.addSql(
      "create index batch_input on batch (input_file_id) where status not in ('failed', 'completed', 'expired', 'cancelled')",
    );
    this.addSql(`
      create table batch_line (
        batch_id uuid not null references batch (id) on delete cascade,
        n integer not null,
        starts_at bigint not null,
        size_bytes integer not null,
        state text not null default 'pending' check (state in ('pending', 'running', 'ended')),
        request_id text,
        attempts integer not null default 0,
        primary key (batch_id, n)
      )`);
    this.addSql("create index batch_line_open on batch_line (batch_id, n) where state <> 'ended'");
  }
}
