import type { Queries } from "../db/database.ts";
import { BUDGET_FAULTS, BUDGET_HELD_FAULTS } from "./budgets/tag-budgets.store.ts";
import { removedBefore } from "./retention/closed-months.store.ts";
import { PROVIDER_ROLLUP_FAULTS } from "./usage/provider-usage.store.ts";
import { NUMBER_FAULTS, ROLLUP_FAULTS, TAG_ROLLUP_FAULTS } from "./usage/usage-rollups.store.ts";

/** An inconsistency of the ledger: what is wrong, and with which transfer, account, deposit or request. */
export type LedgerFault = { readonly fault: string; readonly subject: string };

/** Called after each check of the ledger, with its number from 1, the number of checks, and its subject. */
export type CheckProgress = (done: number, total: number, what: string) => void;

/** Checks every row of the ledger, one statement per check. No faults mean that it is exact. */
export async function findLedgerFaults(
  queries: Queries,
  onProgress: CheckProgress = () => {},
): Promise<readonly LedgerFault[]> {
  const checks = Object.entries(CHECKS);
  const faults: LedgerFault[] = [];
  for (const [done, [what, check]] of checks.entries()) {
    faults.push(...(await queries.rows<LedgerFault>(check)));
    onProgress(done + 1, checks.length, what);
  }
  return faults;
}

/** SQL for the faults of what is set aside: the accounts', the keys' and the budgets' open holds and allotments. */
export const HELD_FAULTS = `
  select 'held is not the sum of the open holds and the allotments' as fault, a.address as subject
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
  union all${BUDGET_HELD_FAULTS}`;

/**
 * Each check by its subject: its rows are faults, as `fault` and `subject`. A client may choose the id of a request that
 * was removed again, so that the transfers of removed requests are compared with those of the same month only.
 */
const CHECKS: Readonly<Record<string, string>> = {
  "transfers of earlier versions": `
    select 'a transfer does not sum to zero' as fault, transfer_id as subject
    from earlier_ledger_entry group by transfer_id having sum(amount) <> 0`,
  transfers: `
    select 'a transfer was made twice' as fault, transfer_id as subject
    from ledger_transfer
    group by transfer_id, from_book, to_book,
      case when created_at < ${removedBefore("requests")} then date_trunc('month', created_at, 'UTC') end
    having count(*) > 1`,
  "opening balances": `
    select 'the opening balances do not sum to zero' as fault, 'ledger_opening' as subject
    from ledger_opening having sum(amount) <> 0
    union all
    select 'a month was closed that does not follow the previous one', kind || ' ' || to_char(month, 'YYYY-MM')
    from (select *, lag(hash, 1, repeat('0', 64)) over w as expected, lag(month) over w as previous
      from closed_month window w as (partition by kind order by month)) c
    where previous_hash <> expected or month <> previous + interval '1 month'`,
  balances: `
    select 'the ' || b.book || ' of an account is not the sum of its entries' as fault, a.address as subject
    from account a
    cross join lateral (values ('deposit', a.deposit), ('credit', a.credit), ('held', a.held)) as b(book, amount)
    left join (select account, book, sum(amount) as amount from ledger_entry group by account, book) e
      on e.account = a.address and e.book = b.book
    where b.amount <> coalesce(e.amount, 0)`,
  "accounts of entries": `
    select 'entries of an account that does not exist' as fault, e.account as subject
    from ledger_entry e left join account a on a.address = e.account
    where e.book in ('deposit', 'credit', 'held') and a.address is null`,
  "held money": HELD_FAULTS,
  "spending of keys": `
    select 'a key without a period was not charged what it used' as fault, k.id::text as subject
    from api_key k
    left join (select api_key_id, sum(cost) as cost
        from (select api_key_id, total_cost as cost from inference_request
          union all select api_key_id, cost from removed_usage) u
        group by api_key_id) r on r.api_key_id = k.id
    where k.reset_period = 'never' and k.used <> coalesce(r.cost, 0)`,
  deposits: `
    select 'a confirmed deposit is not booked exactly once' as fault, coalesce(d.id, substr(e.transfer_id, 9)) as subject
    from deposit d
    full join (select transfer_id, count(*) as bookings, sum(amount) as amount, min(account) as account,
          max(account) as last_account
        from ledger_entry where transfer_id like 'deposit:%' and book = 'deposit' group by transfer_id) e
      on e.transfer_id = 'deposit:' || d.id
    where d.id is null or (d.status = 'confirmed') <> (e.transfer_id is not null) or e.bookings <> 1
      or e.amount <> d.amount or e.account <> d.account or e.last_account <> d.account`,
  holds: `
    select 'a finished request has an open hold, or a running one none' as fault, r.id as subject
    from inference_request r join hold h on h.id = r.id
    where (r.status = 'running') <> (h.state = 'open')
    union all
    select 'a charged hold has no request', h.id
    from hold h left join inference_request r on r.id = h.id
    where h.state = 'settled' and r.id is null`,
  "running requests": `
    select 'a running request has neither a hold nor an allotment' as fault, r.id as subject
    from inference_request r
    left join hold h on h.id = r.id
    left join allotment a on a.id = r.allotment_id
    where r.status = 'running' and h.id is null and a.id is null`,
  "requests of payments": `
    select 'a payment has no request' as fault, e.transfer_id as subject
    from ledger_transfer e left join inference_request r on r.id = substr(e.transfer_id, 8)
    where e.transfer_id like 'settle:%' and r.id is null and e.created_at >= ${removedBefore("requests")}`,
  "costs of requests": `
    select 'the cost of a request is not what its account paid' as fault, r.id as subject
    from inference_request r
    left join (select transfer_id, min(account) as account, max(account) as last_account, -sum(amount) as paid
          from ledger_entry
          where transfer_id like 'settle:%' and book in ('deposit', 'credit', 'held')
            and created_at >= ${removedBefore("requests")}
          group by transfer_id) e
      on e.transfer_id = 'settle:' || r.id
    where (coalesce(r.total_cost, 0) <> coalesce(e.paid, 0) or e.account <> r.account or e.last_account <> r.account
        or r.deposit_used + r.credit_used <> r.total_cost)
      and coalesce(r.finished_at, 'infinity')::timestamptz(3)
        >= greatest(${removedBefore("ledger")}, ${removedBefore("requests")})`,
  "numbers of requests": NUMBER_FAULTS,
  "sums of usage": ROLLUP_FAULTS,
  "sums by provider": PROVIDER_ROLLUP_FAULTS,
  "sums of tags": TAG_ROLLUP_FAULTS,
  "budgets of tags": BUDGET_FAULTS,
};
