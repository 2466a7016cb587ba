import { findLedgerFaults } from "../../src/accounts/ledger.store.ts";
import type { Database } from "../../src/db/database.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import type { Hex } from "../../src/kernel/hex.ts";
import { type Books, demand, Fault } from "./books.ts";

/** What a run is judged by in its end: what was said, what the chain says, and what subscribers were told. */
type Witnesses = {
  readonly books: Books;
  readonly paidIn: ReadonlyMap<Hex, bigint>;
  readonly told: readonly DomainEvent[];
};

/** The books of the database, which must be exact at any moment. */
export async function auditLedger(database: Database): Promise<void> {
  const faults = await findLedgerFaults(database);
  demand(faults.length === 0, `the ledger is not exact: ${JSON.stringify(faults.slice(0, 3))}`);
}

/** Looks at the database when everything has ended. Throws a `Fault` for what is not as it should be. */
export async function auditEnd(database: Database, witnesses: Witnesses): Promise<void> {
  await auditLedger(database);
  demand(witnesses.books.holds.size === 0, `${witnesses.books.holds.size} holds are open in the end`);
  const spent = await auditRequests(database, witnesses.books);
  await auditDeposits(database, witnesses.paidIn);
  await auditAccounts(database, { ...witnesses, spent });
}

async function auditAccounts(
  database: Database,
  { books, paidIn, told, spent }: Witnesses & { readonly spent: ReadonlyMap<string, bigint> },
): Promise<void> {
  type Row = { address: Hex; deposit: string; held: string };
  for (const { address, deposit, held } of await database.rows<Row>(ACCOUNTS)) {
    demand(held === "0", `${held} of ${address} is held in the end`);
    const said = books.available.get(address);
    demand(BigInt(deposit) === said, `${address} has ${deposit}, and should have ${said}`);
    const left = (paidIn.get(address) ?? 0n) - (spent.get(address) ?? 0n);
    demand(BigInt(deposit) === left, `${address} has ${deposit}, and paid in ${left} more than it spent`);
    const last = told.findLast((event) => event.topic === "balance.changed" && event.subject === address);
    const toldDeposit = last?.topic === "balance.changed" ? last.data.deposit : deposit;
    demand(toldDeposit === deposit, `subscribers were told ${toldDeposit} of ${address}, it is ${deposit}`);
  }
}

async function auditDeposits(database: Database, paidIn: ReadonlyMap<Hex, bigint>): Promise<void> {
  const rows = await database.rows<{ account: Hex; amount: string }>(CREDITED);
  const credited = new Map(rows.map(({ account, amount }) => [account, BigInt(amount)]));
  for (const account of new Set([...credited.keys(), ...paidIn.keys()])) {
    const [has, should] = [credited.get(account) ?? 0n, paidIn.get(account) ?? 0n];
    demand(has === should, `${account} was credited ${has}, the chain says ${should}`);
  }
}

/** Answers what each account has spent, neuron. */
async function auditRequests(database: Database, books: Books): Promise<ReadonlyMap<string, bigint>> {
  type Row = { id: string; account: string; status: string; cost: string | null; held: string };
  const spent = new Map<string, bigint>();
  for (const { id, account, status, cost, held } of await database.rows<Row>(REQUESTS)) {
    const chat = books.chats.get(id);
    if (!chat) throw new Fault(`nobody asked for ${id}`);
    const owed = books.priceOf(chat.over?.owed);
    const due = owed < BigInt(held) ? owed : BigInt(held);
    const paid = BigInt(cost ?? -1);
    if (chat.bill !== undefined) demand(paid === chat.bill, `${id} was billed ${chat.bill} and paid ${paid}`);
    demand(paid === due || (chat.isDisturbed && paid === 0n), `${id} paid ${paid} and owes ${due}`);
    if (!chat.isDisturbed)
      demand(status === chat.over?.outcome, `${id} is ${status}, not ${chat.over?.outcome}`);
    spent.set(account, (spent.get(account) ?? 0n) + paid);
  }
  return spent;
}

const ACCOUNTS = "select address, deposit::text as deposit, held::text as held from account";

const CREDITED = `
  select account, sum(amount)::text as amount from ledger_entry
  where book = 'deposit' and cause = 'deposit' group by account`;

const REQUESTS = `
  select r.id, r.account, r.status, r.total_cost::text as cost, h.amount::text as held
  from inference_request r join hold h using (id)`;
