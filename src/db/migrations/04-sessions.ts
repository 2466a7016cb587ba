import { Migration } from "@mikro-orm/migrations";

/** Sign-in nonces and wallet sessions. Active management keys of one account have different names. */
export class CreateSessions extends Migration {
  override up(): void {
    this.addSql(`
      create table sign_in_nonce (
        nonce text primary key,
        expires_at timestamptz not null
      )`);
    this.addSql("create index sign_in_nonce_expires on sign_in_nonce (expires_at)");
    this.addSql(`
      create table wallet_session (
        id uuid primary key,
        account text not null check (account ~ '^0x[0-9a-f]{40}$'),
        token_hash text not null unique,
        created_at timestamptz(3) not null default now(),
        expires_at timestamptz not null
      )`);
    this.addSql("create index wallet_session_account on wallet_session (account)");
    this.addSql("create index wallet_session_expires on wallet_session (expires_at)");
    this.addSql(`
      update management_key set name = name || ' ' || left(id::text, 8)
      where revoked_at is null and exists (
        select 1 from management_key twin
        where twin.account = management_key.account and twin.name = management_key.name
          and twin.revoked_at is null and twin.id < management_key.id
      )`);
    this.addSql(`
      create unique index management_key_name on management_key (account, name) where revoked_at is null`);
  }
}
