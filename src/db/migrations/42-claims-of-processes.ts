import { Migration } from "@mikro-orm/migrations";

/**
 * The process that runs the request of an idempotency key, whose lease it lasts for. `is_billed`: the request does
 * nothing but be billed, so it may be repeated unless it `is_charged`, which the transaction sets that charges its cost.
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
