import type { Queries } from "../db/database.ts";

/** SQL for the start of a key row's period, `-infinity` for `never`. The same as `periodStart`. */
export const periodStartSql = (
  key: string,
): string => `coalesce(date_trunc(case ${key}.reset_period when 'daily' then 'day'
      when 'weekly' then 'week' when 'monthly' then 'month' end, now(), 'UTC'), '-infinity')`;

/** SQL for what a key has been charged in its current period, neuron. `key` is the row's alias, never user input. */
export function spentSql(key: string): string {
  return `case when ${key}.spent_at >= ${periodStartSql(key)} then ${key}.used else 0 end`;
}

/**
 * Recomputes what a key was charged in its period, after the period was changed. The caller has locked the key's row,
 * so no settlement is in progress.
 */
export async function recountSpending(tx: Queries, keyId: string): Promise<void> {
  await tx.rows(RECOUNT, [keyId]);
}

/**
 * The requests of a key are found by the hash of the index `inference_request_by_key`. Months that are removed ended
 * before any period but `never` began.
 */
const RECOUNT = `
  update api_key k set
    used = coalesce((
      select sum(r.total_cost) from inference_request r
      where hashtextextended(r.account || ' ' || r.api_key_id::text, 0)
          = hashtextextended(k.account || ' ' || k.id::text, 0)
        and r.api_key_id = k.id and r.usage_id is not null and r.finished_at >= ${periodStartSql("k")}
    ), 0) + coalesce((
      select sum(u.cost) from removed_usage u
      where u.account = k.account and u.api_key_id = k.id and k.reset_period = 'never'
    ), 0),
    spent_at = now()
  where k.id = $1::uuid`;
