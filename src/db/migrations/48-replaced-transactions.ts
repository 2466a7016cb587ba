import { Migration } from "@mikro-orm/migrations";

/** The transactions that the one which pays for an image replaces: their hashes, newest first. */
export class ReplacedTransactions extends Migration {
  override up(): void {
    this.addSql("alter table image_file add column replaced_hashes jsonb not null default '[]'");
  }
}
