import { Migration } from "@mikro-orm/migrations";

/**
 * How a request was routed: the providers that were tried, with their results, and those that were skipped, with the
 * reason. Also the usage of services that are not billed by token.
 */
export class KeepRouting extends Migration {
  override up(): void {
    this.addSql("alter table inference_request add column routing jsonb, add column units bigint");
  }
}
