import { Migration } from "@mikro-orm/migrations";

/**
 * Indexes for the filters of public lists: tokens by their creator, and files by their size and by the time at which
 * they were first seen. Anybody may read these lists, so a condition that no row fulfils must not read them whole.
 */
export class FilterLists extends Migration {
  override up(): void {
    this.addSql(`
      create index agent_creator_of on agent_creator (chain_id, creator, contract, token_id)
      where ended_block is null`);
    this.addSql("create index submission_seen on submission (chain_id, seen_at, tx_seq)");
    this.addSql("create index submission_size on submission (chain_id, size_bytes, tx_seq)");
  }
}
