import { Migration } from "@mikro-orm/migrations";

/**
 * How a request found its provider: those that were tried with what came of it, and those that were not with the
 * reason. And what was used of things that are not counted in tokens.
 */
export class KeepRouting extends Migration {
  override up(): void {
    this.addSql("alter table inference_request add column routing jsonb, add column units bigint");
  }
}
