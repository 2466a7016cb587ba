import type { Queries } from "../db/database.ts";
import { HELD_FAULTS, type LedgerFault } from "./ledger-checks.store.ts";

/** What a verification of the transfers since the last one found. */
export type NewFaults = { readonly faults: readonly LedgerFault[]; readonly transfers: number };

/**
 * Lets verifications store their sums one after the other. A transaction calls it before the statement that reads and
 * stores, whose snapshot is then newer than what others stored: of two at the same time, the one that began earlier
 * could store an older sum of an account beside a newer one of its key.
 */
export async function lockVerification(tx: Queries): Promise<void> {
  await tx.rows("lock table ledger_verification in share row exclusive mode");
}

/**
 * Verifies the transfers since the last verification, and what they sum to with it, in one statement and so at one
 * moment. If there is no fault, they become a part of what is verified. Undefined if nothing was verified yet, or a
 * process of an earlier version has written since.
 */
export async function verifyNewTransfers(queries: Queries): Promise<NewFaults | undefined> {
  const rows = await queries.rows<{ transfers: string | null; fault: string | null; subject: string }>(
    VERIFY,
  );
  const [first] = rows;
  if (!first || first.transfers === null) return undefined;
  const faults = rows.flatMap(({ fault, subject }) => (fault === null ? [] : [{ fault, subject }]));
  return { faults, transfers: Number(first.transfers) };
}

/**
 * Stores what everything in the ledger sums to, in one statement and so at one moment. It counts as verified once
 * `confirmVerified` is called with the same `run`, after a verification that began later.
 */
export async function saveSums(queries: Queries, run: string): Promise<void> {
  await queries.rows(SAVE, [run]);
}

/** Ends a verification of everything. Without effect if another one has begun since. */
export async function confirmVerified(queries: Queries, run: string): Promise<void> {
  await queries.rows("update ledger_verification set verified_at = now() where run = $1::uuid", [run]);
}

/** Ids are taken before the commit, so that a transfer may appear after one with a greater id; not after so many. */
const OVERLAP = 100_000;

/** SQL for what entries change in one of an account's own books. */
const change = (book: string) =>
  `coalesce(sum(case when to_book = '${book}' then amount when from_book = '${book}' then -amount end), 0)`;
const OWN = "('deposit', 'credit', 'held')";

/**
 * The transfers of an account are made under the lock of its row, so their ids increase in the order of its commits:
 * those after the account's last verified one are new, and none is left out. The transfers of a payment are made by
 * one statement, so they are new together.
 */
const VERIFY = `
  with last as (
    select * from ledger_verification
    where verified_at is not null and earlier_entry_id = (select coalesce(max(id), 0) from earlier_ledger_entry)
  ), fresh as materialized (
    select t.* from ledger_transfer t left join verified_account v on v.account = t.account
    where t.id > (select transfer_id from last) - ${OVERLAP} and t.id > coalesce(v.transfer_id, 0)
  ), moves as materialized (
    select account, max(id) as transfer_id, ${change("deposit")} as deposit, ${change("credit")} as credit,
      ${change("held")} as held
    from fresh group by account
  ), books as materialized (
    select coalesce(v.account, m.account) as account, coalesce(m.transfer_id, v.transfer_id) as transfer_id,
      coalesce(v.deposit, 0) + coalesce(m.deposit, 0) as deposit,
      coalesce(v.credit, 0) + coalesce(m.credit, 0) as credit, coalesce(v.held, 0) + coalesce(m.held, 0) as held,
      m.account is not null as is_changed
    from verified_account v full join moves m on m.account = v.account
  ), payments as materialized (
    select p.transfer_id, p.account, p.paid, r.id, r.account as payer, r.total_cost, r.api_key_id
    from (select transfer_id, min(account) as account, sum(case when from_book in ${OWN} then amount else 0 end)
          - sum(case when to_book in ${OWN} then amount else 0 end) as paid
        from fresh where transfer_id like 'settle:%' group by transfer_id) p
    left join inference_request r on r.id = substr(p.transfer_id, 8)
  ), costs as materialized (
    select coalesce(v.api_key_id, p.api_key_id) as api_key_id, coalesce(v.cost, 0) + coalesce(p.cost, 0) as cost,
      p.api_key_id is not null as is_changed
    from verified_key v
    full join (select api_key_id, sum(total_cost) as cost from payments where api_key_id is not null
        group by api_key_id) p on p.api_key_id = v.api_key_id
  ), faults as materialized (
    select 'a transfer was made twice' as fault, transfer_id as subject
      from fresh group by transfer_id, from_book, to_book having count(*) > 1
    union all
    select 'the balance of an account is not the sum of its entries', coalesce(a.address, b.account)
      from account a full join books b on b.account = a.address
      where (a.deposit, a.credit, a.held) is distinct from (b.deposit, b.credit, b.held)
        and (b.account is not null or a.deposit <> 0 or a.credit <> 0 or a.held <> 0)
    union all
    select 'a payment has no request', transfer_id from payments where id is null
    union all
    select 'the cost of a request is not what its account paid', id
      from payments where id is not null and (total_cost is distinct from paid or payer <> account)
    union all
    select 'a key without a period was not charged what it used', k.id::text
      from api_key k left join costs c on c.api_key_id = k.id
      where k.reset_period = 'never' and k.used <> coalesce(c.cost, 0)
    union all
    select 'a deposit is not booked as it was confirmed', coalesce(d.id, substr(t.transfer_id, 9))
      from deposit d
      full join (select transfer_id, account, amount from ledger_transfer where cause = 'deposit') t
        on t.transfer_id = 'deposit:' || d.id
      left join earlier_ledger_entry e on e.transfer_id = 'deposit:' || d.id and e.book = 'deposit'
        and e.account = d.account
      where d.id is null or (d.status = 'confirmed') <> (t.transfer_id is not null or e.id is not null)
        or (t.transfer_id is not null and e.id is not null)
        or coalesce(t.amount, e.amount) <> d.amount or t.account <> d.account
    union all
    ${HELD_FAULTS}
    union all
    select 'a request that has ended has an open hold', h.id
      from hold h join inference_request r on r.id = h.id where h.state = 'open' and r.status <> 'running'
  ), saved as (
    insert into verified_account as v (account, transfer_id, deposit, credit, held)
    select account, transfer_id, deposit, credit, held from books
    where is_changed and exists (select from last) and not exists (select from faults)
    on conflict (account) do update set transfer_id = excluded.transfer_id, deposit = excluded.deposit,
      credit = excluded.credit, held = excluded.held
  ), saved_keys as (
    insert into verified_key as v (api_key_id, cost)
    select api_key_id, cost from costs
    where is_changed and exists (select from last) and not exists (select from faults)
    on conflict (api_key_id) do update set cost = excluded.cost
  ), marked as (
    update ledger_verification set verified_at = now(),
      transfer_id = greatest(transfer_id, coalesce((select max(id) from fresh), 0))
    where exists (select from last) and not exists (select from faults)
  )
  select case when exists (select from last) then (select count(*)::text from fresh) end as transfers,
    f.fault, f.subject
  from (select 1) as one left join faults f on true`;

/**
 * An account is verified up to the last of all its transfers. The last one of a payment may be between books of the
 * router: the uncharged part of a cost goes from `loss` to `revenue`.
 */
const SAVE = `
  with sums as materialized (
    select coalesce(e.account, t.account) as account, coalesce(t.transfer_id, 0) as transfer_id,
      ${["deposit", "credit", "held"].map((book) => `coalesce(e.${book}, 0) as ${book}`).join(", ")}
    from (select account, ${["deposit", "credit", "held"]
      .map((book) => `sum(amount) filter (where book = '${book}') as ${book}`)
      .join(", ")}
      from ledger_entry where book in ${OWN} group by account) e
    full join (select account, max(id) as transfer_id from ledger_transfer group by account) t
      on t.account = e.account
  ), costs as materialized (
    select api_key_id, sum(cost) as cost
    from (select api_key_id, total_cost as cost from inference_request
      union all select api_key_id, cost from removed_usage) u
    where api_key_id is not null and cost is not null group by api_key_id
  ), gone as (
    delete from verified_account v where not exists (select from sums s where s.account = v.account)
  ), gone_keys as (
    delete from verified_key v where not exists (select from costs c where c.api_key_id = v.api_key_id)
  ), saved as (
    insert into verified_account (account, transfer_id, deposit, credit, held)
    select account, transfer_id, deposit, credit, held from sums
    on conflict (account) do update set transfer_id = excluded.transfer_id, deposit = excluded.deposit,
      credit = excluded.credit, held = excluded.held
  ), saved_keys as (
    insert into verified_key (api_key_id, cost) select api_key_id, cost from costs
    on conflict (api_key_id) do update set cost = excluded.cost
  )
  insert into ledger_verification (id, transfer_id, earlier_entry_id, run)
  select 1, (select coalesce(max(id), 0) from ledger_transfer),
    (select coalesce(max(id), 0) from earlier_ledger_entry), $1::uuid
  on conflict (id) do update set transfer_id = excluded.transfer_id, earlier_entry_id = excluded.earlier_entry_id,
    run = excluded.run, verified_at = null`;
