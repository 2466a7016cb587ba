import { Migration } from "@mikro-orm/migrations";

/** Columns of every row of an agent contract's history: its position in the chain. */
const PLACED = `
  chain_id bigint not null,
  contract text not null,
  block_number bigint not null,
  log_index integer not null,
  block_hash text not null,
  transaction_hash text not null,
  seen_at timestamptz(3) not null default now()`;
/** Columns of rows that are valid from their own position to `ended_*`, or still valid where that is null. */
const LASTING = `
  ended_block bigint,
  ended_log integer,
  check ((ended_block is null) = (ended_log is null))`;

/**
 * Agent tokens (ERC-7857) from the logs of their contracts. Nothing is overwritten: a row records the block that ended
 * it, so that a reorganisation deletes the rows that began after its fork and reopens those that ended there. Also
 * the possible states of watchers, and deposits that were credited on an abandoned chain.
 */
export class CreateAgents extends Migration {
  override up(): void {
    this.addSql(`
      create table agent_transfer (
        ${PLACED},
        token_id numeric(78,0) not null,
        sender text not null,
        receiver text not null,
        with_key boolean not null,
        ${LASTING},
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(`
      create unique index agent_transfer_now on agent_transfer (chain_id, contract, token_id)
      where ended_block is null`);
    this.addSql(`
      create index agent_transfer_holder on agent_transfer (chain_id, receiver, block_number, log_index)
      where ended_block is null`);
    this.addSql(
      "create index agent_transfer_token on agent_transfer (chain_id, contract, token_id, block_number, log_index)",
    );
    this.addSql(`
      create table agent_data (
        ${PLACED},
        token_id numeric(78,0) not null,
        datas jsonb not null,
        ${LASTING},
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(
      "create unique index agent_data_now on agent_data (chain_id, contract, token_id) where ended_block is null",
    );
    this.addSql(`
      create table agent_authorization (
        ${PLACED},
        token_id numeric(78,0) not null,
        authorized_by text not null,
        user_address text not null,
        end_reason text check (end_reason in ('revoked', 'cleared', 'transferred')),
        ${LASTING},
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(`
      create unique index agent_authorization_now
      on agent_authorization (chain_id, contract, token_id, user_address) where ended_block is null`);
    this.addSql(`
      create index agent_authorization_token
      on agent_authorization (chain_id, contract, token_id, block_number, log_index)`);
    this.addSql(`
      create table agent_creator (
        ${PLACED},
        token_id numeric(78,0) not null,
        creator text not null,
        ${LASTING},
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(
      "create unique index agent_creator_now on agent_creator (chain_id, contract, token_id) where ended_block is null",
    );
    this.addSql(`
      create table agent_delegation (
        ${PLACED},
        user_address text not null,
        assistant text not null,
        ${LASTING},
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(`
      create unique index agent_delegation_now on agent_delegation (chain_id, user_address, contract)
      where ended_block is null`);
    this.addSql(`
      create table agent_clone (
        ${PLACED},
        token_id numeric(78,0) not null,
        new_token_id numeric(78,0) not null,
        sender text not null,
        receiver text not null,
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(
      "create index agent_clone_of on agent_clone (chain_id, contract, token_id, block_number, log_index)",
    );
    this.addSql("create index agent_clone_new on agent_clone (chain_id, contract, new_token_id)");
    for (const table of TABLES_WITH_HISTORY)
      this.addSql(`create index ${table}_block on ${table} (chain_id, contract, block_number)`);
    for (const table of TABLES_WITH_HISTORY.filter((name) => name !== "agent_clone"))
      this.addSql(
        `create index ${table}_ended on ${table} (chain_id, contract, ended_block) where ended_block is not null`,
      );
    // A key removed by a reorganisation is kept for a day, because its removal can be replayed for as long.
    this.addSql(`
      create table sealed_key (
        id text primary key,
        ${PLACED},
        token_id numeric(78,0) not null,
        sender text,
        receiver text not null,
        cause text not null check (cause in ('transfer', 'clone', 'mint')),
        keys jsonb not null,
        key_count integer not null,
        removed_at timestamptz
      )`);
    this.addSql(`
      create index sealed_key_inbox on sealed_key (chain_id, receiver, block_number, log_index)
      where removed_at is null`);
    this.addSql(`
      create index sealed_key_token on sealed_key (chain_id, contract, token_id, block_number, log_index)
      where removed_at is null`);
    this.addSql(
      "create index sealed_key_block on sealed_key (chain_id, contract, block_number) where removed_at is null",
    );
    this.addSql("create index sealed_key_removed on sealed_key (removed_at) where removed_at is not null");
    this.addSql("alter table watcher_cursor drop constraint watcher_cursor_state_check");
    this.addSql(`
      alter table watcher_cursor add constraint watcher_cursor_state_check check (state in ('backfilling', 'following',
        'halted_deep_reorg', 'rpc_unavailable', 'rpc_wrong_chain', 'rpc_behind', 'failing'))`);
    this.addSql("alter table watcher_cursor add column accepted_at timestamptz");
    this.addSql("alter table watcher_cursor add column note text");
    this.addSql("alter table deposit add column orphaned boolean not null default false");
    this.addSql("create index deposit_orphaned on deposit (chain_id, transaction_hash) where orphaned");
  }
}

const TABLES_WITH_HISTORY = [
  "agent_transfer",
  "agent_data",
  "agent_authorization",
  "agent_creator",
  "agent_delegation",
  "agent_clone",
] as const;
