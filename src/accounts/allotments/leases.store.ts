import type { Queries } from "../../db/database.ts";
import { balanceChanged } from "../ledger.store.ts";
import { type AllotmentRow, columnsOf, type StoredAllotment, toAllotment } from "./allotment-row.ts";

/** The seconds for which a process may admit requests on its allotments after it renewed its lease. */
export const LEASE_SECONDS = 2;

/**
 * Renews the lease of a process, and reads its allotments. `isNew` if it had none, or had lost it: then its allotments
 * of before are gone.
 */
export async function renewLease(
  queries: Queries,
  processId: string,
): Promise<{ isNew: boolean; allotments: readonly AllotmentRow[] }> {
  const rows = await queries.rows<{ is_new: boolean } & (StoredAllotment | { readonly id: null })>(RENEW, [
    processId,
  ]);
  return {
    isNew: rows[0]?.is_new ?? true,
    allotments: rows.flatMap((row) => (row.id === null ? [] : [toAllotment(row)])),
  };
}

/** Ends the lease of a process that holds nothing any more. */
export async function endLease(queries: Queries, processId: string): Promise<void> {
  await queries.rows(END_LEASE, [processId]);
}

/** A process whose lease is over, and the time at which it was. */
export type EndedLease = { readonly processId: string; readonly expiredAt: string };

/** The processes whose leases are over by the database's clock. */
export async function findEndedLeases(queries: Queries, limit: number): Promise<readonly EndedLease[]> {
  const rows = await queries.rows<{ id: string; at: string }>(ENDED_LEASES, [limit]);
  return rows.map(({ id, at }) => ({ processId: id, expiredAt: at }));
}

/**
 * Releases up to `limit` allotments of processes whose leases ended then and were not renewed since, and ends their
 * requests that are listed as running, uncharged. Returns the number of allotments released.
 */
export async function releaseLost(
  queries: Queries,
  leases: readonly EndedLease[],
  limit: number,
): Promise<number> {
  const rows = await queries.rows<{ released: string }>(RELEASE_LOST, [leasesJson(leases), limit]);
  return Number(rows[0]?.released ?? 0);
}

/** Leases as the parameter `$1` of `ENDED_AS_SEEN`. */
export function leasesJson(leases: readonly EndedLease[]): string {
  return JSON.stringify(leases.map(({ processId, expiredAt }) => ({ id: processId, at: expiredAt })));
}

/** SQL that starts the lease of a process, named by the parameter `process`, if it has none and `where` holds. */
export function startLease(process: string, where: string): string {
  return `
    insert into process_lease (id, expires_at)
    select ${process}::uuid, now() + interval '${LEASE_SECONDS} seconds' where ${where}
    on conflict (id) do nothing`;
}

/** SQL: whether a process of a lease `l` has holds of its own, or idempotency keys of requests in progress. */
const HAS_HOLDS_OR_KEYS = `(exists (select 1 from hold h where h.process_id = l.id and h.state = 'open')
    or exists (select 1 from idempotency_key i where i.process_id = l.id and i.state = 'running'))`;

const RENEW = `
  with renewed as (
    insert into process_lease as l (id, expires_at) values ($1::uuid, now() + interval '${LEASE_SECONDS} seconds')
    on conflict (id) do update set expires_at = excluded.expires_at
    returning l.xmax = 0 as is_new
  )
  select r.is_new, ${columnsOf("a")}
  from renewed r left join allotment a on a.process_id = $1::uuid`;

const END_LEASE = `
  delete from process_lease l
  where l.id = $1::uuid and not exists (select 1 from allotment a where a.process_id = l.id)
    and not ${HAS_HOLDS_OR_KEYS}`;

const ENDED_LEASES = `
  select id::text as id, expires_at::text as at from process_lease
  where expires_at < now() order by expires_at limit $1::int`;

/** SQL for the leases `$1` that are still as they were seen, locked: a process that renews its own keeps its money. */
export const ENDED_AS_SEEN = `
    select l.id from process_lease l
    join jsonb_to_recordset($1::jsonb) as e(id uuid, at timestamptz) on l.id = e.id and l.expires_at = e.at
    order by l.id for update of l`;

/** SQL: subtracts what is in `gone` from what its keys hold, which are locked as `keys`. */
export const KEYS_COUNTED = `
    update api_key k set held = b.held - t.amount
    from (select api_key_id, sum(amount) as amount from gone group by api_key_id) t join keys b on b.id = t.api_key_id
    where k.id = t.api_key_id`;

/** SQL: gives what is in `gone` back to its accounts, which are locked as `wallet`. */
export const ACCOUNTS_MOVED = `
    update account w set deposit = w.deposit + t.amount - t.from_credit, credit = w.credit + t.from_credit,
      held = b.held - t.amount, held_credit = b.held_credit - t.from_credit
    from (select account, sum(amount) as amount, sum(from_credit) as from_credit from gone group by account) t
    join wallet b on b.address = t.account
    where w.address = t.account
    returning w.*`;

/** SQL: the transfers of that money in the ledger. */
export const LOST_TRANSFERS = `
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'lost:' || g.id, 'held', t.to_book, g.account, t.amount, 'expired'
    from gone g, lateral (values ('deposit', g.amount - g.from_credit), ('credit', g.from_credit))
      as t(to_book, amount)
    where t.amount > 0`;

/** Keys and accounts are updated from what they held under their locks, as in `PLACE`. */
const RELEASE_LOST = `
  with lost as (${ENDED_AS_SEEN}
  ), named as (
    select a.id, a.account, a.api_key_id from allotment a where a.process_id in (select id from lost) limit $2::int
  ), keys as (
    select k.id, k.held from api_key k where k.id in (select api_key_id from named) order by k.id for no key update
  ), wallet as (
    select address, held, held_credit from account
    where address in (select account from named) and (select count(*) from keys) >= 0 order by address for update
  ), gone as (
    delete from allotment p
    where p.id in (select id from named) and (select count(*) from wallet) >= 0
    returning p.*
  ), counted as (${KEYS_COUNTED}
  ), moved as (${ACCOUNTS_MOVED}
  ), failed as (
    update inference_request r set status = 'failed', error_code = 'expired', finished_at = now(),
      input_cost = 0, output_cost = 0, total_cost = 0, credit_used = 0, deposit_used = 0
    from gone where r.allotment_id = gone.id and r.status = 'running'
  ), transfers as (${LOST_TRANSFERS}
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address, ${balanceChanged("m", "'release'", "null")} from moved m
  ), ended as (
    delete from process_lease l
    where l.id in (select id from lost)
      and not exists (select 1 from allotment a where a.process_id = l.id and a.id not in (select id from gone))
      and not ${HAS_HOLDS_OR_KEYS}
  )
  select count(*)::text as released from gone`;
