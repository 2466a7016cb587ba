import { Migration } from "@mikro-orm/migrations";

/**
 * Numbers the usage that processes of the version before 17 settle after the update in place of before it. PostgreSQL
 * locks each row for a trigger before an update, whether or not the trigger's condition holds, and that lock was
 * written to the log for every settlement of this version, whose condition never holds.
 */
export class NumberUsageAfterUpdate extends Migration {
  override up(): void {
    this.addSql("drop trigger number_usage on inference_request");
    this.addSql(`
      create or replace function number_usage() returns trigger language plpgsql as $$
      declare
        next bigint;
      begin
        update account set usage_count = usage_count + 1 where address = new.account returning usage_count into next;
        update inference_request set usage_number = next where id = new.id;
        return null;
      end $$`);
    this.addSql(`
      create trigger number_usage after update on inference_request for each row
      when (new.usage_id is not null and new.usage_number is null) execute function number_usage()`);
  }
}
