import { Migration } from "@mikro-orm/migrations";

/**
 * Key-value streams, replayed from tagged submissions. Nothing is overwritten: every version of a key is kept, so that
 * earlier versions can be read and a reorganisation is undone by deleting versions. A btree entry has at most 2,704
 * bytes and keys may be longer, so only their first 512 bytes are indexed.
 */
export class CreateKv extends Migration {
  override up(): void {
    this.addSql(`
      create table kv_replay (
        chain_id bigint primary key,
        streams text not null,
        next_seq numeric(20,0) not null default 0,
        generation bigint not null default 0
      )`);
    this.addSql(`
      create table kv_transaction (
        chain_id bigint not null,
        tx_seq numeric(20,0) not null,
        root text not null,
        sender text not null,
        result text,
        is_committed boolean not null,
        encryption_header text,
        decided_at timestamptz(3) not null default now(),
        primary key (chain_id, tx_seq)
      )`);
    this.addSql(`
      create table kv_stream (
        chain_id bigint not null,
        stream_id text not null,
        first_version numeric(20,0) not null,
        primary key (chain_id, stream_id)
      )`);
    this.addSql(`
      create table kv_entry (
        chain_id bigint not null,
        version numeric(20,0) not null,
        ordinal integer not null,
        stream_id text not null,
        key bytea not null,
        key_head bytea not null generated always as (substring(key from 1 for 512)) stored,
        size_bytes bigint not null,
        value_offset bigint not null,
        value bytea,
        primary key (chain_id, version, ordinal)
      )`);
    this.addSql("create index kv_entry_key on kv_entry (chain_id, stream_id, key_head, version desc)");
    this.addSql(`
      create table kv_control (
        chain_id bigint not null,
        version numeric(20,0) not null,
        ordinal integer not null,
        stream_id text not null,
        op smallint not null,
        family smallint not null generated always as (op & 240) stored,
        key bytea not null,
        key_head bytea not null generated always as (substring(key from 1 for 512)) stored,
        account text not null,
        primary key (chain_id, version, ordinal)
      )`);
    this.addSql(
      "create index kv_control_latest on kv_control (chain_id, stream_id, family, account, key_head, version desc)",
    );
    this.addSql(
      `create index submission_kv on submission (chain_id, tx_seq)
       where left(tags, 66) = '0xdf2ff3bb0af36c6384e6206552a4ed807f6f6a26e7d0aa6bff772ddc9d4307aa'`,
    );
  }
}
