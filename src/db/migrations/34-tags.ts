import { Migration } from "@mikro-orm/migrations";

const COUNTED = ["requests", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens"];
const AMOUNTS = [...COUNTED, "cache_write_1h_tokens"].map((name) => `${name} bigint not null`).join(", ");

/**
 * Tags of requests: names with values, as an object in the row of the request, null without tags. Their usage is in
 * sums of its own, per tag as `usage_rollup` has them per account, for hours and days; a request counts in those of each
 * of its tags. `removed_tag_usage` has the same of removed requests.
 *
 * A tag may have a budget: a limit of what its requests spend, with the columns of a key's limit. All that reads a
 * budget and decides by it holds the lock of its account's row, and `tag_budget_version` of that row increases when one
 * is created or deleted, so that a statement that began before knows that it has not seen it. A hold names the budgets
 * that it is a part of. Budgets whose account got notice of their spending have a row, without a foreign key.
 */
export class TagRequests extends Migration {
  override up(): void {
    this.addSql("alter table inference_request add column tags jsonb");
    this.addSql("alter table hold add column tags jsonb, add column tag_budgets uuid[]");
    this.addSql("alter table account add column tag_budget_version integer not null default 0");
    this.addSql(`
      create table tag_budget (
        account text not null references account (address),
        id uuid not null,
        name text not null,
        value text not null,
        credit_limit numeric(78,0) not null check (credit_limit >= 0),
        reset_period text not null check (reset_period in ('never', 'daily', 'weekly', 'monthly')),
        held numeric(78,0) not null default 0 check (held >= 0),
        used numeric(78,0) not null default 0 check (used >= 0),
        spent_at timestamptz,
        created_at timestamptz(3) not null default now(),
        primary key (account, id),
        unique (account, name, value)
      ) with (fillfactor = 70)`);
    this.addSql(`
      create table tag_budget_notice (
        account text not null,
        budget_id uuid not null,
        period_start timestamptz not null,
        credit_limit numeric(78,0) not null,
        percent integer not null,
        used numeric(78,0) not null,
        primary key (account, budget_id)
      )`);
    this.addSql(`
      create table usage_tag_rollup (
        account text not null references account (address),
        grain text not null check (grain in ('hour', 'day')),
        starts_at timestamptz not null,
        name text not null,
        value text not null,
        api_key_id uuid,
        model text not null,
        trust_mode text not null,
        ${AMOUNTS},
        cost numeric(78,0) not null,
        first_number bigint not null,
        last_number bigint not null
      ) with (fillfactor = 80)`);
    this.addSql(`
      create unique index usage_tag_rollup_once on usage_tag_rollup
        (account, grain, name, value, starts_at, model, trust_mode, api_key_id)
      nulls not distinct`);
    this.addSql(`
      create table removed_tag_usage (
        account text not null,
        name text not null,
        value text not null,
        requests bigint not null,
        cost numeric(78,0) not null,
        primary key (account, name, value)
      )`);
    // As in the other indexes of requests, hashes of the account and the value; the texts are compared as well.
    this.addSql(`
      create function tag_hashes(account text, tags jsonb) returns bigint[]
      language sql immutable parallel safe as $$
        select array_agg(hashtextextended(account || ' ' || t.key || '=' || t.value, 0)) from jsonb_each_text(tags) t
      $$`);
    this.addSql(`
      create index inference_request_by_tag on inference_request using gin (tag_hashes(account, tags))
      where tags is not null`);
  }
}
