import { Migration } from "@mikro-orm/migrations";

/**
 * Files are looked up by root within a chain. While the chain had an index of its own, a database without statistics,
 * as PGlite always is, combined both indexes and read every submission of the chain for each file.
 */
export class FindSubmissionsByRoot extends Migration {
  override up(): void {
    this.addSql("drop index submission_root");
    this.addSql("create index submission_root on submission (root, chain_id, tx_seq)");
  }
}
