import { Migration } from "@mikro-orm/migrations";

/**
 * Counts what makes a finalized file another one or none: submissions that the chain took back, bytes that were lost, a
 * file completed beside another of its root. While it stands still, what was once found finalized is so.
 */
export class CountHeldGenerations extends Migration {
  override up(): void {
    this.addSql("alter table held_bytes add column generation bigint not null default 0");
  }
}
