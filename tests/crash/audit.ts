import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import type { Queries } from "../../src/db/database.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { findReceiptFaults, findUnreceipted } from "../support/receipt-audit.ts";
import type { SentChat } from "./load.ts";
import { type CrashProviders, chatCost, IMAGE_COST } from "./provider.ts";

/** A request as the database has it. `settlements` counts its charges in the ledger. */
export type StoredRequest = {
  readonly id: string;
  readonly model: string;
  readonly status: string;
  readonly cost: string;
  readonly settlements: number;
};

/** The holds and jobs that have not ended. */
export async function countOpenWork(queries: Queries): Promise<number> {
  const [row] = await queries.rows<{ open: number }>(OPEN_WORK);
  return row?.open ?? 0;
}

/** The same in detail, to be read by people. */
export function readOpenWork(queries: Queries): Promise<readonly object[]> {
  return queries.rows<object>(OPEN_ROWS);
}

/** Every request in the database, by its id. */
export async function readRequests(queries: Queries): Promise<ReadonlyMap<string, StoredRequest>> {
  const rows = await queries.rows<StoredRequest>(REQUESTS);
  return new Map(rows.map((row) => [row.id, row]));
}

/** What is wrong with the ledger, the holds, the jobs and the receipts as a whole. */
export async function findStoredFaults(queries: Queries): Promise<readonly string[]> {
  const faults = await findLedgerFaults(queries);
  const others = await queries.rows<{ fault: string; subject: string }>(FAULTS, [String(IMAGE_COST)]);
  const unreceipted = await findUnreceipted(queries);
  return [
    ...[...faults, ...others].map(({ fault, subject }) => `${fault}: ${subject}`),
    ...(await findReceiptFaults(queries)),
    ...unreceipted.map((id) => `a settled request has no receipt: ${id}`),
  ];
}

/** What is wrong with the bills of these chats: acknowledged ones are charged once, others at most once. */
export function findChatFaults(
  chats: readonly SentChat[],
  requests: ReadonlyMap<string, StoredRequest>,
): readonly string[] {
  return chats.flatMap((chat) => {
    const stored = requests.get(chat.requestId ?? "");
    const full = chatCost(chat.tokens);
    // A chat that its client left is billed by the router's own count of the prompt.
    const most = chatCost(chat.tokens, countPromptTokens([{ role: "user", content: chat.prompt }]));
    const details = `${chat.prompt} (${JSON.stringify(stored)})`;
    if (chat.answer !== undefined && (stored?.settlements !== 1 || BigInt(stored.cost) !== full))
      return [`an acknowledged answer was not charged ${full} once: ${details}`];
    if (stored && BigInt(stored.cost) > (chat.cancels ? most : full))
      return [`more than ${most} was charged: ${details}`];
    if (stored?.status === "running") return [`it never ended: ${details}`];
    return [];
  });
}

/** What is wrong with the calls of the providers: one of each chat and repetition, two of each attempt of a job. */
export function findProviderFaults({ received, repeated, broker }: CrashProviders): readonly string[] {
  const submitted = new Map<string, number>();
  for (const { headers } of broker.submissions) {
    const key = String(headers["idempotency-key"]);
    submitted.set(key, (submitted.get(key) ?? 0) + 1);
  }
  return [
    ...[...received]
      .filter(([prompt, times]) => times > (repeated.has(prompt) ? 2 : 1))
      .map(([prompt]) => `the provider was called again: ${prompt}`),
    ...[...submitted].filter(([, times]) => times > 2).map(([key]) => `a job was submitted again: ${key}`),
  ];
}

const OPEN_WORK = `
  select ((select count(*) from hold where state = 'open') + (select count(*) from allotment)
    + (select count(*) from job where state in ('pending', 'processing')))::int as open`;

const OPEN_ROWS = `
  select h.id, h.expires_at, j.id as job, j.state, j.leased_until, j.checkpoint, j.step
  from hold h full join job j on j.request_id = h.id
  where h.state = 'open' or j.state in ('pending', 'processing')`;

const REQUESTS = `
  select r.id, r.model, r.status, coalesce(r.total_cost, 0)::text as cost, count(e.*)::int as settlements
  from inference_request r
  left join ledger_entry e on e.transfer_id = 'settle:' || r.id and e.book = 'revenue'
  group by r.id`;

const FAULTS = `
  select 'a hold is open' as fault, id as subject from hold where state = 'open'
  union all
  select 'an allotment is left', id::text from allotment
  union all
  select 'money is held without a hold', address from account where held <> 0
  union all
  select 'a request was charged more than once', transfer_id from ledger_entry
    where transfer_id like 'settle:%' and book = 'revenue' group by transfer_id having count(*) > 1
  union all
  select 'the router lost money', transfer_id from ledger_entry where book = 'loss'
  union all
  select 'a job did not complete', id::text from job where state <> 'completed'
  union all
  select 'a completed job was not charged once', j.id::text
    from job j left join ledger_entry e on e.transfer_id = 'settle:' || j.request_id and e.book = 'revenue'
    where j.state = 'completed' group by j.id having coalesce(sum(abs(e.amount)), 0) <> $1::numeric`;
