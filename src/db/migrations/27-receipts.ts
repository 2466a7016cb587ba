import { Migration } from "@mikro-orm/migrations";

/**
 * Receipts of settled requests. `receipt_draft` is written with a settlement and deleted when its receipt is in the log;
 * `commitments` are the salt and the salted hashes of what was received, forwarded, answered and returned, 32 bytes each,
 * zeros where there is none. `nodes` are the hashes of the subtrees of the log that a leaf completes, its own first, so a
 * proof reads a number of rows that is logarithmic in the size of the log. `receipt_log` is one row: the log's right edge,
 * and its newest signed head. Receipts are never changed, and do not depend on the request.
 */
export class KeepReceipts extends Migration {
  override up(): void {
    this.addSql(`
      create table receipt_draft (
        request_id text primary key,
        endpoint text,
        model_answered text,
        commitments bytea,
        ready_at timestamptz not null
      ) with (fillfactor = 70)`);
    this.addSql(`
      create table receipt (
        leaf_index bigint primary key,
        request_id text not null unique,
        account text not null,
        api_key_id uuid,
        body text not null,
        nodes bytea not null
      )`);
    this.addSql(`
      create table receipt_log (
        id boolean primary key default true check (id),
        size bigint not null,
        edge bytea not null,
        last_leaf bytea,
        checkpoint text,
        checkpoint_size bigint,
        checkpoint_at timestamptz
      ) with (fillfactor = 50)`);
    this.addSql("insert into receipt_log (size, edge) values (0, '')");
  }
}
