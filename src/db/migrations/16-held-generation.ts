import { Migration } from "@mikro-orm/migrations";

/**
 * A counter of everything that can make a finalized file another one or none: submissions removed by a reorganisation,
 * lost bytes, a second file completed with the same root. While it is unchanged, a file found finalized still is.
 */
export class CountHeldGenerations extends Migration {
  override up(): void {
    this.addSql("alter table held_bytes add column generation bigint not null default 0");
  }
}
