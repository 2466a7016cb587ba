import { Migration } from "@mikro-orm/migrations";

/**
 * Usage is numbered per account, so that a customer cannot infer the volume of the whole router from the numbers of
 * their own requests. One index that begins with the account covers every column that sums and filters read, so they
 * never read the table; it replaces the index on `usage_id` and is written equally often. Also the secrets of this
 * deployment, each created by the first process that needs it.
 *
 * `usage_id` and its sequence remain for processes of the previous version, which do not number per account: a trigger
 * does it for them.
 */
export class NumberUsagePerAccount extends Migration {
  override up(): void {
    this.addSql("alter table account add column usage_count bigint not null default 0");
    this.addSql("alter table inference_request add column usage_number bigint");
    this.addSql("drop index inference_request_usage");
    // An index tuple has room for names within the catalogue's limit (500 characters) only.
    this.addSql("update inference_request set model = left(model, 500) where octet_length(model) > 2000");
    this.addSql(`
      update inference_request r set usage_number = numbered.n
      from (
        select id, row_number() over (partition by account order by usage_id) as n from inference_request
        where usage_id is not null
      ) as numbered
      where r.id = numbered.id`);
    this.addSql(`
      update account a set usage_count = used.count
      from (
        select account, count(*) from inference_request where usage_number is not null group by account
      ) as used
      where a.address = used.account`);
    this.addSql(`
      create unique index inference_request_usage on inference_request (account, usage_number) include (
        created_at, api_key_id, model, trust_mode, total_cost,
        input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens
      ) where usage_number is not null`);
    this.addSql(`
      create function number_usage() returns trigger language plpgsql as $$
      begin
        update account set usage_count = usage_count + 1 where address = new.account
        returning usage_count into new.usage_number;
        return new;
      end $$`);
    this.addSql(`
      create trigger number_usage before update on inference_request for each row
      when (new.usage_id is not null and new.usage_number is null) execute function number_usage()`);
    // Without it the planner expects a different day for each request and sorts all of them: 300 ms instead of 100.
    this.addSql(`
      create statistics inference_request_day on ((created_at at time zone 'UTC')::date) from inference_request`);
    this.addSql(`
      create table deployment_secret (
        name text primary key,
        secret text not null,
        created_at timestamptz(3) not null default now()
      )`);
  }
}
