import { Migration } from "@mikro-orm/migrations";

/**
 * Adds the requests of removed months to what keys without a period have used, where an earlier version left them out
 * when the key lost its period. What is missing is added, rather than the sum stored, because processes of the previous
 * version may charge the key meanwhile.
 */
export class CountRemovedRequestsOfKeys extends Migration {
  override up(): void {
    this.addSql(`
      with removed as (
        select k.id, k.account, k.used, sum(u.cost) as cost
        from api_key k join removed_usage u on u.account = k.account and u.api_key_id = k.id
        where k.reset_period = 'never' group by k.id
      ), kept as (
        select m.id, coalesce(sum(r.total_cost), 0) as cost
        from removed m left join inference_request r
          on hashtextextended(r.account || ' ' || r.api_key_id::text, 0)
              = hashtextextended(m.account || ' ' || m.id::text, 0)
            and r.account = m.account and r.api_key_id = m.id
        group by m.id
      )
      update api_key k set used = k.used + f.missing, spent_at = coalesce(k.spent_at, now())
      from (
        select m.id, m.cost + r.cost - m.used as missing from removed m join kept r on r.id = m.id
        where m.used < m.cost + r.cost and m.used >= r.cost
      ) f
      where k.id = f.id and k.reset_period = 'never'`);
  }
}
