import { Migration } from "@mikro-orm/migrations";

/**
 * Jobs and their events name the `sk-` key that submitted them, because only that key may read their content. Until all
 * processes run this version, a trigger sets it for jobs of an earlier one.
 */
export class NameJobKeys extends Migration {
  override up(): void {
    this.addSql("alter table job add column api_key_id uuid references api_key (id)");
    this.addSql("alter table job disable trigger job_goes_forward");
    this.addSql(`
      update job j set api_key_id = r.api_key_id, step = j.step || jsonb_build_object('keyId', r.api_key_id)
      from inference_request r where r.id = j.request_id`);
    this.addSql("alter table job enable trigger job_goes_forward");
    this.addSql(`
      update outbox o set data = o.data || jsonb_build_object('keyId', j.api_key_id)
      from job j where o.topic = 'job.progressed' and j.id = (o.data ->> 'jobId')::uuid`);
    this.addSql("create index job_key on job (api_key_id, created_at, id)");
    this.addSql(`
      create function job_names_key() returns trigger language plpgsql as $$
      begin
        new.api_key_id := (select api_key_id from inference_request where id = new.request_id);
        new.step := new.step || jsonb_build_object('keyId', new.api_key_id);
        return new;
      end $$`);
    this.addSql(`
      create trigger job_names_key before insert on job
      for each row when (new.api_key_id is null) execute function job_names_key()`);
  }
}
