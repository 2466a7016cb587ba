import { Migration } from "@mikro-orm/migrations";

/**
 * Moves the trigger that numbers usage for processes of the previous version from before the update to after it. For a
 * trigger before an update, PostgreSQL locks each row even if the trigger's condition is false, as it is for every
 * settlement of this version, and writes that lock to the WAL.
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
