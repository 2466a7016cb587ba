import { Migration } from "@mikro-orm/migrations";

/**
 * Spending limits and restrictions of keys. `held` and `used` are columns of the key, so that an admission checks its
 * limit on the row that it locks; `used` counts from the beginning of the period that contains `spent_at`.
 * `terms_version` increases with every change of the restrictions; 0 means never restricted. Active keys of one account
 * have different names.
 */
export class LimitApiKeys extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_key
        add column expires_at timestamptz(3),
        add column credit_limit numeric(78,0) check (credit_limit >= 0),
        add column reset_period text not null default 'never'
          check (reset_period in ('never', 'daily', 'weekly', 'monthly')),
        add column allowed_models jsonb not null default '[]',
        add column allowed_providers jsonb not null default '[]',
        add column trust_mode text check (trust_mode in ('verified', 'private')),
        add column terms_version integer not null default 0,
        add column held numeric(78,0) not null default 0 check (held >= 0),
        add column used numeric(78,0) not null default 0 check (used >= 0),
        add column spent_at timestamptz`);
    this.addSql("alter table hold add column api_key_id uuid references api_key (id)");
    this.addSql(`
      update hold h set api_key_id = r.api_key_id from inference_request r
      where r.id = h.id and r.api_key_id is not null`);
    this.addSql(`
      update api_key k set held = h.amount
      from (select api_key_id, sum(amount) as amount from hold where state = 'open' group by api_key_id) h
      where k.id = h.api_key_id`);
    this.addSql(`
      update api_key k set used = r.cost, spent_at = r.finished_at
      from (select api_key_id, sum(total_cost) as cost, max(finished_at) as finished_at
          from inference_request where total_cost > 0 group by api_key_id) r
      where k.id = r.api_key_id`);
    this.addSql(`
      update api_key set name = name || ' ' || left(id::text, 8)
      where revoked_at is null and exists (
        select 1 from api_key twin
        where twin.account = api_key.account and twin.name = api_key.name
          and twin.revoked_at is null and twin.id < api_key.id
      )`);
    this.addSql("create unique index api_key_name on api_key (account, name) where revoked_at is null");
  }
}
