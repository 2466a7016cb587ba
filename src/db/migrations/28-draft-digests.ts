import { Migration } from "@mikro-orm/migrations";

/**
 * The hashes in a draft of a receipt: of what was received, forwarded, answered and returned, 32 bytes each, zeros where
 * there is none. They are salted when the receipt is written; `commitments` is of drafts of the previous version, which
 * salted them before.
 */
export class StoreDraftDigests extends Migration {
  override up(): void {
    this.addSql("alter table receipt_draft add column digests bytea");
  }
}
