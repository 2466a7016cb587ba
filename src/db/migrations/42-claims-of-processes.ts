import { Migration } from "@mikro-orm/migrations";

/**
 * The process that runs the request of an idempotency key: it holds the key while its lease lasts. A request that
 * `is_billed` has no effect but its charge, so it may be run again unless it `is_charged`; the transaction that charges
 * its cost sets that.
 */
export class NameProcessesOfClaims extends Migration {
  override up(): void {
    this.addSql(`
      alter table idempotency_key add column process_id uuid, add column is_billed boolean not null default false,
        add column is_charged boolean not null default false`);
    this.addSql(`
      create index idempotency_key_of_process on idempotency_key (process_id)
        where state = 'running' and process_id is not null`);
    this.addSql("create index idempotency_key_of_request on idempotency_key (account, request_id)");
  }
}
