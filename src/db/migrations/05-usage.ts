import { Migration } from "@mikro-orm/migrations";

/**
 * The amounts a request took from each book, its usage number, and idempotency keys. A request gets a number if it was
 * answered or charged. Numbers of one account increase in the order of its commits, because they are assigned while
 * the account's row is locked.
 */
export class CreateUsage extends Migration {
  override up(): void {
    this.addSql("create sequence usage_id");
    this.addSql(`
      alter table inference_request
        add column usage_id bigint,
        add column deposit_used numeric(78,0),
        add column credit_used numeric(78,0),
        add column cached_tokens bigint not null default 0,
        add column cache_write_tokens bigint not null default 0,
        add column cache_write_1h_tokens bigint not null default 0,
        add column trust_mode text not null default 'standard'
          check (trust_mode in ('standard', 'verified', 'private'))`);
    this.addSql(`
      update inference_request r set usage_id = u.n, credit_used = least(h.from_credit, r.total_cost),
        deposit_used = r.total_cost - least(h.from_credit, r.total_cost)
      from (
        select id, row_number() over (order by finished_at, id) as n from inference_request
        where total_cost is not null and (input_tokens is not null or total_cost > 0)
      ) u join hold h on h.id = u.id
      where r.id = u.id`);
    this.addSql(
      "select setval('usage_id', coalesce((select max(usage_id) from inference_request), 0) + 1, false)",
    );
    this.addSql(
      "create index inference_request_usage on inference_request (account, usage_id) where usage_id is not null",
    );
    this.addSql(
      "create index inference_request_key on inference_request (api_key_id, usage_id) where usage_id is not null",
    );
    this.addSql(`
      create table idempotency_key (
        account text not null,
        method text not null,
        route text not null,
        key text not null,
        body_hash text not null,
        request_id text not null,
        state text not null check (state in ('running', 'kept', 'secret', 'lost')),
        status integer,
        headers jsonb,
        body bytea,
        created_at timestamptz not null default now(),
        deadline timestamptz not null,
        primary key (account, method, route, key)
      )`);
    this.addSql("create index idempotency_key_age on idempotency_key (created_at)");
  }
}
