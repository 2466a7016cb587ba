import { ENDED_AS_SEEN, type EndedLease, leasesJson } from "../accounts/allotments/leases.store.ts";
import type { Queries } from "../db/database.ts";

/** A request with an idempotency key. */
export type ClaimedRequest = { readonly account: string; readonly requestId: string };

/**
 * Records that these requests are charged, in the transaction that charges them. Returns the ids of those whose keys are
 * still theirs: the client may have repeated the others already.
 */
export async function markCharged(
  tx: Queries,
  requests: readonly ClaimedRequest[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.rows<{ id: string }>(MARK_CHARGED, [
    JSON.stringify(requests.map(({ account, requestId }) => ({ account, id: requestId }))),
  ]);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Ends up to `limit` claims of processes whose leases ended then and were not renewed since. If a request has no effect
 * but its charge, and that was not made, its key is free and the charge cannot be made any more. Any other request may
 * have had its effect, so it is not run again. Returns the number of claims.
 */
export async function releaseLostClaims(
  queries: Queries,
  leases: readonly EndedLease[],
  limit: number,
): Promise<number> {
  const [row] = await queries.rows<{ ended: string }>(RELEASE_LOST_CLAIMS, [leasesJson(leases), limit]);
  return Number(row?.ended ?? 0);
}

/** Both statements lock the key, so either the request is charged, or its key is free and nothing is charged. */
const MARK_CHARGED = `
  update idempotency_key k set is_charged = true
  from jsonb_to_recordset($1::jsonb) as r(account text, id text)
  where k.account = r.account and k.request_id = r.id
  returning k.request_id as id`;

const SAME_KEY = "k.account = n.account and k.method = n.method and k.route = n.route and k.key = n.key";
const IS_UNDONE = "k.is_billed and not k.is_charged";

const RELEASE_LOST_CLAIMS = `
  with lost as (${ENDED_AS_SEEN}
  ), named as (
    select k.account, k.method, k.route, k.key from idempotency_key k
    where k.process_id in (select id from lost) and k.state = 'running'
    order by k.account, k.method, k.route, k.key limit $2::int for update of k
  ), freed as (
    delete from idempotency_key k using named n where ${SAME_KEY} and k.state = 'running' and ${IS_UNDONE}
    returning 1
  ), kept as (
    update idempotency_key k set state = 'lost' from named n
    where ${SAME_KEY} and k.state = 'running' and not (${IS_UNDONE})
    returning 1
  )
  select ((select count(*) from freed) + (select count(*) from kept))::text as ended`;
