import { Migration } from "@mikro-orm/migrations";

/**
 * Drops an index that every request was written into, and that only the recount of a key's spending read: the index
 * `inference_request_by_key` has the same requests. Until they are replaced, processes of the previous version recount
 * by reading the whole table.
 */
export class DropIndexOfKeys extends Migration {
  override up(): void {
    this.addSql("drop index inference_request_key");
  }
}
