import { Migration } from "@mikro-orm/migrations";

/**
 * The process that runs the request of an idempotency key, whose lease it lasts for. `is_billed`: the request does
 * nothing but be billed, so it may be repeated if its process died before `may_be_charged`, which is set before its
 * cost is charged.
 */
export class NameProcessesOfClaims extends Migration {
  override up(): void {
    this.addSql(`
      alter table idempotency_key add column process_id uuid, add column is_billed boolean not null default false,
        add column may_be_charged boolean not null default false`);
    this.addSql(`
      create index idempotency_key_of_process on idempotency_key (process_id)
        where state = 'running' and process_id is not null`);
    this.addSql("create index idempotency_key_of_request on idempotency_key (account, request_id)");
  }
}
