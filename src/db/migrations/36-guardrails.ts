import { Migration } from "@mikro-orm/migrations";

/** Limits on what the requests of a key contain and ask for. A null and an empty list restrict nothing. */
export class GuardApiKeys extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_key
        add column max_input_tokens integer check (max_input_tokens > 0),
        add column max_input_bytes integer check (max_input_bytes > 0),
        add column max_output_tokens integer check (max_output_tokens > 0),
        add column allowed_tools jsonb not null default '[]',
        add column blocked_parameters jsonb not null default '[]',
        add column verify_tee boolean not null default false`);
  }
}
