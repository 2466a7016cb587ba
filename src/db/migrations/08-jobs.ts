import { Migration } from "@mikro-orm/migrations";

/**
 * Jobs that outlive their request. `spec` is the immutable request, `checkpoint` what a worker needs to resume after
 * another one died, `step` the newest step as published in its event. Large content has a table of its own: the
 * request's body until the job ends, then its result for a limited time.
 */
export class CreateJobs extends Migration {
  override up(): void {
    this.addSql(`
      create table job (
        id uuid primary key,
        kind text not null,
        account text not null references account (address),
        request_id text not null unique references inference_request (id),
        state text not null check (state in ('pending', 'processing', 'completed', 'failed', 'cancelled')),
        seq integer not null check (seq > 0),
        fence integer not null default 0,
        leased_until timestamptz,
        spec jsonb not null,
        checkpoint jsonb not null,
        step jsonb not null,
        event_id uuid not null,
        created_at timestamptz(3) not null default now(),
        updated_at timestamptz(3) not null default now(),
        finished_at timestamptz(3),
        deadline timestamptz not null
      )`);
    this.addSql(
      "create index job_unfinished on job (kind, created_at, id) where state in ('pending', 'processing')",
    );
    this.addSql("create index job_account on job (account, created_at, id)");
    this.addSql(`
      create function job_goes_forward() returns trigger language plpgsql as $$
      begin
        if old.state in ('completed', 'failed', 'cancelled') or (old.state = 'processing' and new.state = 'pending')
          or new.seq < old.seq or new.fence < old.fence then
          raise exception 'a job never goes back: % to %', old.state, new.state;
        end if;
        return new;
      end $$`);
    this.addSql(`
      create trigger job_goes_forward before update on job
      for each row execute function job_goes_forward()`);
    this.addSql(`
      create table job_content (
        id uuid primary key references job (id) on delete cascade,
        request bytea,
        result text,
        expires_at timestamptz
      )`);
    this.addSql("create index job_content_age on job_content (expires_at) where expires_at is not null");
  }
}
