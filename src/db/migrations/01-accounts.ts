import { Migration } from "@mikro-orm/migrations";

/** Accounts, their keys, the double-entry ledger, holds, and billed requests. */
export class CreateAccounts extends Migration {
  override up(): void {
    this.addSql(`
      create table account (
        address text primary key check (address ~ '^0x[0-9a-f]{40}$'),
        deposit numeric(78,0) not null default 0 check (deposit >= 0),
        credit numeric(78,0) not null default 0 check (credit >= 0),
        held numeric(78,0) not null default 0 check (held >= 0),
        held_credit numeric(78,0) not null default 0 check (held_credit >= 0 and held_credit <= held),
        created_at timestamptz(3) not null default now()
      )`);
    this.addSql(`
      create table api_key (
        id uuid primary key,
        account text not null references account (address),
        name text not null,
        secret_hash text not null unique,
        preview text not null,
        permission text not null default 'inference',
        created_at timestamptz(3) not null default now(),
        last_used_at timestamptz,
        revoked_at timestamptz
      )`);
    this.addSql("create index api_key_account on api_key (account, created_at, id)");
    this.addSql(`
      create table management_key (
        id uuid primary key,
        account text not null references account (address),
        name text not null,
        secret_hash text not null unique,
        preview text not null,
        scopes jsonb not null,
        created_at timestamptz(3) not null default now(),
        last_used_at timestamptz,
        last_source_ip text,
        revoked_at timestamptz
      )`);
    this.addSql("create index management_key_account on management_key (account, created_at, id)");
    this.addSql(`
      create table inference_request (
        id text primary key,
        account text not null references account (address),
        api_key_id uuid references api_key (id),
        model text not null,
        provider text not null,
        service_type text not null,
        status text not null check (status in ('running', 'completed', 'failed', 'aborted')),
        input_price numeric(78,0) not null,
        output_price numeric(78,0) not null,
        input_tokens bigint,
        output_tokens bigint,
        usage_estimated boolean not null default false,
        input_cost numeric(78,0),
        output_cost numeric(78,0),
        total_cost numeric(78,0),
        error_code text,
        first_byte_ms integer,
        duration_ms integer,
        created_at timestamptz(3) not null default now(),
        finished_at timestamptz
      )`);
    this.addSql("create index inference_request_account on inference_request (account, created_at, id)");
    this.addSql(`
      create table hold (
        id text primary key references inference_request (id),
        account text not null references account (address),
        amount numeric(78,0) not null check (amount >= 0),
        from_credit numeric(78,0) not null check (from_credit >= 0 and from_credit <= amount),
        state text not null check (state in ('open', 'settled', 'released', 'expired')),
        created_at timestamptz(3) not null default now(),
        expires_at timestamptz not null,
        resolved_at timestamptz
      )`);
    this.addSql("create index hold_open on hold (expires_at) where state = 'open'");
    this.addSql("create index hold_open_account on hold (account) where state = 'open'");
    this.addSql(`
      create table ledger_entry (
        id bigserial primary key,
        transfer_id text not null,
        book text not null,
        account text not null,
        amount numeric(78,0) not null check (amount <> 0),
        cause text not null,
        created_at timestamptz(3) not null default now()
      )`);
    this.addSql("create unique index ledger_entry_once on ledger_entry (transfer_id, book, account)");
    this.addSql("create index ledger_entry_account on ledger_entry (account, book)");
    this.addSql(`
      create function ledger_entry_is_final() returns trigger language plpgsql as
      $$ begin raise exception 'a ledger entry is never changed'; end $$`);
    this.addSql(`
      create trigger ledger_entry_is_final before update or delete on ledger_entry
      for each row execute function ledger_entry_is_final()`);
    this.addSql(`
      create table deposit (
        id text primary key,
        account text not null references account (address),
        amount numeric(78,0) not null check (amount > 0),
        status text not null check (status in ('seen', 'confirmed', 'reverted')),
        chain_id bigint not null,
        transaction_hash text not null,
        log_index integer not null,
        block_number bigint not null,
        block_hash text not null,
        seen_at timestamptz(3) not null default now(),
        credited_at timestamptz,
        unique (chain_id, transaction_hash, log_index)
      )`);
    this.addSql("create index deposit_account on deposit (account, seen_at, id)");
    this.addSql("create index deposit_pending on deposit (block_number) where status = 'seen'");
  }
}
