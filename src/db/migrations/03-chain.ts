import { Migration } from "@mikro-orm/migrations";

/** What is read from the chain: the watcher's position and the submissions of files. */
export class CreateChain extends Migration {
  override up(): void {
    this.addSql(`
      create table watcher_cursor (
        name text primary key,
        chain_id bigint not null,
        block_number bigint,
        block_hash text,
        head_number bigint,
        state text not null default 'backfilling'
          check (state in ('backfilling', 'following', 'halted_deep_reorg', 'rpc_unavailable')),
        last_reorg_depth integer not null default 0,
        updated_at timestamptz not null default now(),
        check ((block_number is null) = (block_hash is null))
      )`);
    this.addSql(`
      create table watcher_block (
        name text not null references watcher_cursor (name),
        block_number bigint not null,
        block_hash text not null,
        primary key (name, block_number)
      )`);
    this.addSql(`
      create table submission (
        chain_id bigint not null,
        tx_seq numeric(20,0) not null,
        root text not null,
        sender text not null,
        identity text not null,
        size_bytes numeric(78,0) not null,
        start_entry_index numeric(78,0) not null,
        sectors numeric(78,0) not null,
        tags text not null,
        nodes jsonb not null,
        transaction_hash text not null,
        log_index integer not null,
        block_number bigint not null,
        block_hash text not null,
        seen_at timestamptz(3) not null default now(),
        primary key (chain_id, tx_seq),
        unique (chain_id, transaction_hash, log_index)
      )`);
    this.addSql("create index submission_root on submission (root, tx_seq)");
    this.addSql("create index submission_block on submission (block_number)");
    this.addSql("create index submission_sender on submission (sender, tx_seq)");
  }
}
