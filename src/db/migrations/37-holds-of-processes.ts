import { Migration } from "@mikro-orm/migrations";

/**
 * The process that settles a hold, null if any process may. Such a hold lasts no longer than the lease of its process:
 * afterwards it is `lost`, its money is free, and a process that only slept may still settle it, from the free balance.
 *
 * The check of the state is not validated: that would read the whole table, of which every row met the stricter one.
 */
export class NameProcessesOfHolds extends Migration {
  override up(): void {
    this.addSql("alter table hold add column process_id uuid, drop constraint hold_state_check");
    this.addSql(`
      alter table hold add constraint hold_state_check
        check (state in ('open', 'settled', 'released', 'expired', 'lost')) not valid`);
    this.addSql(
      "create index hold_of_process on hold (process_id) where state = 'open' and process_id is not null",
    );
  }
}
