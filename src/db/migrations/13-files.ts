import { Migration } from "@mikro-orm/migrations";

/**
 * The signer of a submission's transaction, besides the submitter that it names, and the progress of each file. Logs
 * that were read before have no signers, so they are read again.
 */
export class FollowFiles extends Migration {
  override up(): void {
    this.addSql("delete from submission");
    this.addSql("delete from watcher_block where name = 'files'");
    this.addSql("delete from watcher_cursor where name = 'files'");
    this.addSql("alter table submission rename column sender to submitter");
    this.addSql("alter index submission_sender rename to submission_submitter");
    this.addSql("alter table submission add column transaction_sender text not null");
    this.addSql("create index submission_transaction_sender on submission (transaction_sender, tx_seq)");
    this.addSql(`
      create table file_progress (
        chain_id bigint not null,
        root text not null,
        sequence integer not null check (sequence > 0),
        status text not null check (status in ('uploading', 'submitted', 'finalized', 'pruned', 'removed')),
        tx_seq numeric(20,0),
        segments integer not null,
        uploaded_segments integer not null,
        event_id uuid not null,
        updated_at timestamptz(3) not null default now(),
        primary key (chain_id, root)
      )`);
  }
}
