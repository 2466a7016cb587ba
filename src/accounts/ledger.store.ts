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
