import { Migration } from "@mikro-orm/migrations";

/** What the requests of a batch were charged, neuron, and their tokens, counted as each of them ends. */
export class SumCostsOfBatches extends Migration {
  override up(): void {
    this.addSql(`
      alter table batch add column cost numeric(78, 0) not null default 0,
        add column input_tokens bigint not null default 0, add column output_tokens bigint not null default 0`);
    // Batches of before have their costs in the history only.
    this.addSql(`
      with sums as (
        select l.batch_id as id, sum(r.total_cost) as cost, sum(r.input_tokens) as input, sum(r.output_tokens) as output
        from batch_line l join inference_request r on r.id = l.request_id
        where l.state = 'ended' and r.status = 'completed' group by l.batch_id
      )
      update batch b set cost = coalesce(s.cost, 0), input_tokens = coalesce(s.input, 0),
        output_tokens = coalesce(s.output, 0)
      from sums s where b.id = s.id`);
  }
}
