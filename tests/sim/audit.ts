import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import type { DomainEvent } from "../../src/events/topics.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { findReceiptFaults, findUnreceipted } from "../support/receipt-audit.ts";
import type { LedgerModel } from "./books.ts";
import { demand, Fault } from "./fault.ts";

/**
 * What a run is judged by at its end: the answers to clients, the state of the chain, and the events that
 * subscribers received.
 */
type Observations = {
  readonly books: LedgerModel;
  readonly paidIn: ReadonlyMap<Hex, bigint>;
  readonly publishedEvents: readonly DomainEvent[];
};

/**
 * The ledger in the database, which must be consistent at any moment. What was added since the last call is checked by
 * itself as well, and must be found as consistent as all of it.
 */
export async function auditLedger(database: Database): Promise<void> {
  const ledger = new LedgerService(database);
  const added = await ledger.verifyNew();
  const { faults } = await ledger.verify();
  const first = (found: typeof faults) => JSON.stringify(found.slice(0, 3));
  demand(faults.length === 0, `the ledger is inconsistent: ${first(faults)}`);
  demand(
    !added?.faults.length,
    `the ledger is consistent, and a check of the last steps says: ${first(added?.faults ?? [])}`,
  );
}

/** Checks the database when everything has ended. Throws a `Fault` for each violation. */
export async function auditEnd(database: Database, observations: Observations): Promise<void> {
  await auditLedger(database);
  demand(
    observations.books.holds.size === 0,
    `${observations.books.holds.size} holds are open at the end: ${[...observations.books.holds.keys()].join(" ")}`,
  );
  await auditReceipts(database);
  const left = await database.rows("select 1 from allotment");
  demand(left.length === 0, `${left.length} allotments are left at the end`);
  await auditJobs(database, observations);
  const spent = await auditRequests(database, observations.books);
  await auditDeposits(database, observations.paidIn);
  await auditAccounts(database, { ...observations, spent });
}

/** Every settled request has exactly one receipt, which states its charge, in a log that was only appended to. */
async function auditReceipts(database: Database): Promise<void> {
  const faults = await findReceiptFaults(database);
  demand(faults.length === 0, `receipts are wrong: ${faults.slice(0, 3).join("; ")}`);
  const missing = await findUnreceipted(database);
  demand(missing.length === 0, `settled requests have no receipt: ${missing.slice(0, 3).join(" ")}`);
  const drafts = await database.rows("select 1 from receipt_draft");
  demand(drafts.length === 0, `${drafts.length} receipts are not written at the end`);
}

async function auditAccounts(
  database: Database,
  { paidIn, publishedEvents, spent }: Observations & { readonly spent: ReadonlyMap<string, bigint> },
): Promise<void> {
  type Row = { address: Hex; deposit: string; held: string };
  for (const { address, deposit, held } of await database.rows<Row>(ACCOUNTS)) {
    demand(held === "0", `${held} of ${address} is held at the end`);
    const left = (paidIn.get(address) ?? 0n) - (spent.get(address) ?? 0n);
    demand(BigInt(deposit) === left, `${address} has ${deposit}, its deposits less its charges are ${left}`);
    const last = publishedEvents.findLast(
      (event) => event.topic === "balance.changed" && event.subject === address,
    );
    const publishedDeposit = last?.topic === "balance.changed" ? last.data.deposit : deposit;
    demand(
      publishedDeposit === deposit,
      `subscribers received a deposit of ${publishedDeposit} for ${address}, it is ${deposit}`,
    );
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

/** Every job has ended, has an event for each step, and is charged if and only if it has a result. */
async function auditJobs(database: Database, { books, publishedEvents }: Observations): Promise<void> {
  type Row = {
    id: string;
    state: string;
    seq: number;
    status: string;
    provider: string;
    cost: string;
    kept: boolean;
  };
  const steps = Map.groupBy(
    publishedEvents.flatMap((event) => (event.topic === "job.progressed" ? [event.data] : [])),
    ({ jobId }) => jobId,
  );
  for (const { id, state, seq, status, provider, cost, kept } of await database.rows<Row>(JOBS)) {
    const job = books.jobs.get(id);
    if (!job) throw new Fault(`nobody asked for job ${id}`);
    demand(ENDED.has(state), `job ${id} is ${state} at the end`);
    demand((state === "completed") === kept, `job ${id} is ${state}, and its result is kept: ${kept}`);
    demand((state === "completed") === (status === "completed"), `job ${id} is ${state}, its bill ${status}`);
    demand(job.owes(state, provider, BigInt(cost)), `job ${id} is ${state} and was charged ${cost}`);
    const sequences = steps.get(id)?.map(({ sequence }) => sequence) ?? [];
    const isWhole = sequences.length === seq && sequences.every((sequence, at) => sequence === at + 1);
    demand(isWhole, `of the ${seq} steps of job ${id} these were published: ${sequences}`);
    demand(steps.get(id)?.at(-1)?.status === state, `job ${id} is ${state}, and another state was published`);
  }
}

/** The charges of each account, neuron. */
async function auditRequests(database: Database, books: LedgerModel): Promise<ReadonlyMap<string, bigint>> {
  type Row = { id: string; account: string; status: string; cost: string | null };
  const spent = new Map<string, bigint>();
  const rows = await database.rows<Row>(REQUESTS);
  const recorded = new Set(rows.map(({ id }) => id));
  for (const [id, { bill }] of books.chats)
    demand(!bill || recorded.has(id), `${id} was billed ${bill} and is not recorded`);
  for (const { id, account, status, cost } of rows) {
    const paid = BigInt(cost ?? -1);
    spent.set(account, (spent.get(account) ?? 0n) + paid);
    if (books.jobOf(id)) continue;
    const chat = books.chats.get(id);
    if (!chat) throw new Fault(`nobody asked for ${id}`);
    // No event of its end arrived: then the last provider that had it has failed.
    chat.failed();
    const owed = chat.over?.owed ?? 0n;
    const held = books.grants.get(id) ?? 0n;
    const due = chat.isUncovered ? 0n : owed < held ? owed : held;
    const isDue = paid >= due && paid <= owed;
    if (chat.bill !== undefined) demand(paid === chat.bill, `${id} was billed ${chat.bill} and paid ${paid}`);
    demand(isDue || (chat.isDisturbed && paid === 0n), `${id} paid ${paid} of ${held} held and owes ${owed}`);
    if (!chat.isDisturbed) demand(chat.mayBe(status), `${id} is ${status}, not ${chat.over?.outcome}`);
  }
  return spent;
}

const ACCOUNTS = "select address, deposit::text as deposit, held::text as held from account";

const CREDITED = `
  select account, sum(amount)::text as amount from ledger_entry
  where book = 'deposit' and cause = 'deposit' group by account`;

const REQUESTS = `
  select r.id, r.account, r.status, r.total_cost::text as cost from inference_request r`;

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

const JOBS = `
  select j.id::text as id, j.state, j.seq, r.status, r.provider, r.total_cost::text as cost,
    coalesce(c.result is not null, false) as kept
  from job j join inference_request r on r.id = j.request_id left join job_content c on c.id = j.id`;
