import { Migration } from "@mikro-orm/migrations";

/** The parts of the tokens of a batch: read from caches, and reasoning. */
export class DetailTokensOfBatches extends Migration {
  override up(): void {
    this.addSql(`
      alter table batch add column cached_tokens bigint not null default 0,
        add column reasoning_tokens bigint not null default 0`);
    // The history has the cached tokens of earlier requests; their reasoning tokens were not recorded.
    this.addSql(`
      with sums as (
        select l.batch_id as id, sum(r.cached_tokens) as cached
        from batch_line l join inference_request r on r.id = l.request_id
        where l.state = 'ended' and r.status = 'completed' group by l.batch_id
      )
      update batch b set cached_tokens = coalesce(s.cached, 0) from sums s where b.id = s.id`);
  }
}
