import { Migration } from "@mikro-orm/migrations";

/**
 * Answers for idempotent replay are encrypted under a key of the caller's own secret, and keys and hashes are keyed by it
 * (`sealed`). What was stored in clear is deleted: such a request is not done again, and its answer is not given again.
 */
export class SealAnswers extends Migration {
  override up(): void {
    this.addSql("alter table idempotency_key add column sealed boolean not null default false");
    this.addSql(`
      update idempotency_key set state = 'lost', status = null, headers = null, body = null where state = 'kept'`);
  }
}
