import type { Queries } from "../db/database.ts";

/** A deposit from the chain to be credited. */
export type DepositMove = { readonly account: string; readonly amount: bigint; readonly transferId: string };

/**
 * Books a confirmed deposit: credits the account's `deposit` book and debits the outside's `deposits-in`. The unique
 * index of deposits makes a second booking of one of them fail.
 */
export async function creditDeposit(tx: Queries, move: DepositMove): Promise<void> {
  const rows = await tx.rows(MOVE, [move.account, move.amount.toString(), move.transferId, "deposit"]);
  if (rows.length !== 1) throw new Error(`deposit ${move.transferId} has no account ${move.account}`);
}

/** Creates an account if it does not exist. Its address is in lower case. */
export async function openAccount(tx: Queries, address: string): Promise<void> {
  await tx.rows("insert into account (address) values ($1) on conflict (address) do nothing", [address]);
}

/** The query of `npm run ledger:verify`: every row is a fault; no rows mean that the ledger is exact. */
export function findLedgerFaults(queries: Queries): Promise<readonly { fault: string; subject: string }[]> {
  return queries.rows(FAULTS);
}

/**
 * SQL for the payload of `balance.changed` from an account row: a held amount counts with the book it came from, so
 * that `deposit + credit` is the total and `deposit + credit - held` is available. Arguments are SQL, never user input.
 */
export function balanceChanged(row: string, cause: string, requestId: string): string {
  return `jsonb_build_object('account', ${row}.address, 'cause', ${cause}, 'requestId', ${requestId},
      'deposit', (${row}.deposit + ${row}.held - ${row}.held_credit)::text,
      'credit', (${row}.credit + ${row}.held_credit)::text, 'held', ${row}.held::text)`;
}

const MOVE = `
  with moved as (
    update account set deposit = deposit + $2::numeric where address = $1
    returning *
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select $3::text, 'deposits-in', 'deposit', moved.address, $2::numeric, $4::text from moved
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address, ${balanceChanged("m", "$4::text", "null")} from moved m
  )
  select address from moved`;

const FAULTS = `
  select 'a transfer does not sum to zero' as fault, transfer_id as subject
    from earlier_ledger_entry group by transfer_id having sum(amount) <> 0
  union all
  select 'a transfer was made twice', transfer_id
    from ledger_transfer group by transfer_id, from_book, to_book having count(*) > 1
  union all
  select 'the ' || b.book || ' of an account is not the sum of its entries', a.address
    from account a
    cross join lateral (values ('deposit', a.deposit), ('credit', a.credit), ('held', a.held)) as b(book, amount)
    left join (select account, book, sum(amount) as amount from ledger_entry group by account, book) e
      on e.account = a.address and e.book = b.book
    where b.amount <> coalesce(e.amount, 0)
  union all
  select 'entries of an account that does not exist', e.account
    from ledger_entry e left join account a on a.address = e.account
    where e.book in ('deposit', 'credit', 'held') and a.address is null
  union all
  select 'held is not the sum of the open holds and the allotments', a.address
    from account a
    left join (select account, sum(amount) as amount, sum(from_credit) as from_credit
        from (select account, amount, from_credit from hold where state = 'open'
          union all select account, amount, from_credit from allotment) p
        group by account) h on h.account = a.address
    where a.held <> coalesce(h.amount, 0) or a.held_credit <> coalesce(h.from_credit, 0)
  union all
  select 'held of a key is not the sum of its open holds and allotments', k.id::text
    from api_key k
    left join (select api_key_id, sum(amount) as amount
        from (select api_key_id, amount from hold where state = 'open'
          union all select api_key_id, amount from allotment) p
        group by api_key_id) h on h.api_key_id = k.id
    where k.held <> coalesce(h.amount, 0)
  union all
  select 'a key without a period was not charged what it used', k.id::text
    from api_key k
    left join (select api_key_id, sum(total_cost) as cost from inference_request group by api_key_id) r
      on r.api_key_id = k.id
    where k.reset_period = 'never' and k.used <> coalesce(r.cost, 0)
  union all
  select 'a confirmed deposit is not booked exactly once', d.id
    from deposit d left join ledger_entry e on e.transfer_id = 'deposit:' || d.id and e.book = 'deposit'
    where (d.status = 'confirmed') <> (e.id is not null) or e.amount <> d.amount
  union all
  select 'a finished request has an open hold, or a running one none', r.id
    from inference_request r join hold h on h.id = r.id
    where (r.status = 'running') <> (h.state = 'open')
  union all
  select 'a running request has neither a hold nor an allotment', r.id
    from inference_request r
    left join hold h on h.id = r.id
    left join allotment a on a.id = r.allotment_id
    where r.status = 'running' and h.id is null and a.id is null
  union all
  select 'a payment has no request', e.transfer_id
    from ledger_transfer e left join inference_request r on r.id = substr(e.transfer_id, 8)
    where e.transfer_id like 'settle:%' and r.id is null
  union all
  select 'a charged hold has no request', h.id
    from hold h left join inference_request r on r.id = h.id
    where h.state = 'settled' and r.id is null
  union all
  select 'the cost of a request is not what its account paid', r.id
    from inference_request r
    join (select transfer_id, -sum(amount) as paid from ledger_entry
          where transfer_id like 'settle:%' and book in ('deposit', 'credit', 'held') group by transfer_id) e
      on e.transfer_id = 'settle:' || r.id
    where r.total_cost is distinct from e.paid`;
