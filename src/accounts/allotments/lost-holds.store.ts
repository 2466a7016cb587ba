import type { Queries } from "../../db/database.ts";
import { balanceChanged } from "../ledger.store.ts";
import {
  ACCOUNTS_MOVED,
  ENDED_AS_SEEN,
  type EndedLease,
  KEYS_COUNTED,
  LOST_TRANSFERS,
  leasesJson,
} from "./leases.store.ts";

/**
 * Frees the money of up to `limit` holds of processes whose leases ended then and were not renewed since, and ends their
 * requests uncharged. Returns the number of holds. A process that only slept may still settle them: see `RESOLVE`.
 */
export async function releaseLostHolds(
  queries: Queries,
  leases: readonly EndedLease[],
  limit: number,
): Promise<number> {
  const [row] = await queries.rows<{ released: string }>(RELEASE_LOST_HOLDS, [leasesJson(leases), limit]);
  return Number(row?.released ?? 0);
}

/** Locks in the order of `RESOLVE`: the holds, then their keys, accounts and budgets. */
const RELEASE_LOST_HOLDS = `
  with lost as (${ENDED_AS_SEEN}
  ), named as (
    select h.id, h.account from hold h
    where h.process_id in (select id from lost) and h.state = 'open' order by h.id limit $2::int
  ), gone as (
    update hold h set state = 'lost', resolved_at = now() from named n
    where h.id = n.id and h.account = n.account and h.state = 'open'
    returning h.id, h.account, h.api_key_id, h.amount, h.from_credit, h.tag_budgets
  ), keys as (
    select k.id, k.held from api_key k where k.id in (select api_key_id from gone) order by k.id for no key update
  ), wallet as (
    select address, held, held_credit from account
    where address in (select account from gone) and (select count(*) from keys) >= 0 order by address for update
  ), budgets as (
    select b.account, b.id, b.held from tag_budget b
    where (b.account, b.id) in (select g.account, unnest(g.tag_budgets) from gone g)
      and (select count(*) from wallet) >= 0
    order by b.account, b.id for update
  ), counted as (${KEYS_COUNTED}
  ), freed_budgets as (
    update tag_budget b set held = l.held - t.amount
    from (select g.account, u.id, sum(g.amount) as amount
      from gone g cross join lateral unnest(g.tag_budgets) as u(id) group by g.account, u.id) t
    join budgets l on l.account = t.account and l.id = t.id
    where b.account = t.account and b.id = t.id
  ), moved as (${ACCOUNTS_MOVED}
  ), failed as (
    update inference_request r set status = 'failed', error_code = 'expired', finished_at = now(),
      input_cost = 0, output_cost = 0, total_cost = 0, credit_used = 0, deposit_used = 0
    from gone g where r.id = g.id and r.account = g.account and r.status = 'running'
  ), transfers as (${LOST_TRANSFERS}
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address, ${balanceChanged("m", "'release'", "g.id")}
    from gone g join moved m on m.address = g.account
  )
  select count(*)::text as released from gone`;
