import { Migration } from "@mikro-orm/migrations";

/**
 * Responses for idempotent replay are encrypted under a key derived from the caller's own secret (`sealed`). Responses
 * stored in clear are deleted: such a request is neither executed nor answered again.
 */
export class SealAnswers extends Migration {
  override up(): void {
    this.addSql("alter table idempotency_key add column sealed boolean not null default false");
    this.addSql(`
      update idempotency_key set state = 'lost', status = null, headers = null, body = null where state = 'kept'`);
  }
}
