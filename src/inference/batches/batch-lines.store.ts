import type { Queries } from "../../db/database.ts";

/** Where a request is in the input file: `n` is the 1-based number of its line. */
export type LinePlace = { readonly n: number; readonly startsAt: number; readonly sizeBytes: number };

/** A line that has not ended. `requestId` is the request that a worker sent for it and did not end, if any. */
export type OpenLine = LinePlace & { readonly attempts: number; readonly requestId: string | null };

/** Deletes the lines of a batch, to check its input again. */
export async function clearLines(queries: Queries, batchId: string): Promise<void> {
  await queries.rows("delete from batch_line where batch_id = $1::uuid", [batchId]);
}

/** Writes lines that were checked. */
export async function insertLines(
  queries: Queries,
  batchId: string,
  lines: readonly LinePlace[],
): Promise<void> {
  const rows = lines.map(({ n, startsAt, sizeBytes }) => ({ n, starts_at: startsAt, size_bytes: sizeBytes }));
  await queries.rows(INSERT, [batchId, JSON.stringify(rows)]);
}

/** A page of the lines of a batch: the first `limit` after line `after`. */
type LinePage = { readonly after: number; readonly limit: number };

/** Lines of a batch that have not ended. */
export function openLines(queries: Queries, batchId: string, page: LinePage): Promise<readonly OpenLine[]> {
  return readLines(queries, OPEN, batchId, page);
}

/** Those of them whose requests a worker sent and did not end. */
export function sentLines(queries: Queries, batchId: string, page: LinePage): Promise<readonly OpenLine[]> {
  return readLines(queries, SENT, batchId, page);
}

async function readLines(
  queries: Queries,
  sql: string,
  batchId: string,
  { after, limit }: LinePage,
): Promise<readonly OpenLine[]> {
  const rows = await queries.rows<LineRow>(sql, [batchId, after, limit]);
  return rows.map((row) => ({
    n: row.n,
    startsAt: Number(row.starts_at),
    sizeBytes: row.size_bytes,
    attempts: row.attempts,
    requestId: row.request_id,
  }));
}

/**
 * Records that a request is about to be sent for a line, in a transaction that has the lease (`shareLeased`). Resolves
 * with `stopped` if no more lines of the batch may begin, and with `lost` if the line is not waiting.
 */
export async function beginLine(
  tx: Queries,
  batchId: string,
  n: number,
  requestId: string,
): Promise<"begun" | "stopped" | "lost"> {
  const [row] = await tx.rows<{ is_stopped: boolean; is_begun: boolean }>(BEGIN, [batchId, n, requestId]);
  if (row?.is_stopped) return "stopped";
  return row?.is_begun ? "begun" : "lost";
}

/**
 * Frees a line whose request ended without an answer, so that it may be sent again. A request that this process aborted
 * itself (`isUncounted`) is not one of the attempts.
 */
export async function freeLine(
  tx: Queries,
  batchId: string,
  { n, requestId, isUncounted }: { n: number; requestId: string; isUncounted: boolean },
): Promise<void> {
  await tx.rows(FREE, [batchId, n, requestId, isUncounted ? 1 : 0]);
}

/** Ends a line whose answer is recorded in this transaction. False if its request is not the current one. */
export async function endLine(tx: Queries, batchId: string, n: number, requestId: string): Promise<boolean> {
  return (await tx.rows(END, [batchId, n, requestId])).length > 0;
}

/** Ends lines that are not being sent. Returns the number of those that had not ended. */
export async function endWaiting(tx: Queries, batchId: string, lines: readonly number[]): Promise<number> {
  return (await tx.rows(END_WAITING, [batchId, JSON.stringify(lines)])).length;
}

/** Deletes at most `limit` lines of batches that have ended. Returns the count. */
export async function forgetLines(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(FORGET, [limit])).length;
}

type LineRow = {
  readonly n: number;
  readonly starts_at: string;
  readonly size_bytes: number;
  readonly attempts: number;
  readonly request_id: string | null;
};

const INSERT = `
  insert into batch_line (batch_id, n, starts_at, size_bytes)
  select $1::uuid, l.n, l.starts_at, l.size_bytes
  from jsonb_to_recordset($2::text::jsonb) as l(n int, starts_at bigint, size_bytes int)`;

const page = (conditions: string) => `
  select n, starts_at::text as starts_at, size_bytes, attempts, request_id from batch_line
  where batch_id = $1::uuid and n > $2::integer and ${conditions} order by n limit $3::integer`;

const OPEN = page("state <> 'ended'");
/** By the index of open lines: those that wait may be many, and are before a line that was sent where they are retried. */
const SENT = page("state <> 'ended' and state = 'running'");

const LINE = "batch_id = $1::uuid and n = $2::integer";

/**
 * Begins a line unless its batch was cancelled, or is stopped for another reason. A cancellation locks the job, so it
 * waits for the transactions that have the lease and begin lines. A transaction that waits for the cancellation instead
 * sees it here, because this statement reads what was committed before it. So no line begins after a cancellation was
 * answered.
 */
const BEGIN = `
  with stopped as (
    select end_reason is not null as is_stopped from batch where id = $1::uuid
  ), begun as (
    update batch_line set state = 'running', request_id = $3::text, attempts = attempts + 1 from stopped
    where ${LINE} and state = 'pending' and not is_stopped returning 1
  )
  select is_stopped, exists (select 1 from begun) as is_begun from stopped`;

const FREE = `
  update batch_line set state = 'pending', request_id = null, attempts = attempts - $4::integer
  where ${LINE} and request_id = $3::text and state = 'running'`;

const END = `
  update batch_line set state = 'ended' where ${LINE} and request_id = $3::text and state = 'running' returning 1`;

const END_WAITING = `
  update batch_line set state = 'ended'
  where batch_id = $1::uuid and state = 'pending'
    and n in (select value::int from jsonb_array_elements_text($2::text::jsonb)) returning 1`;

const FORGET = `
  delete from batch_line where (batch_id, n) in (
    select l.batch_id, l.n from batch b join batch_line l on l.batch_id = b.id
    where b.status in ('failed', 'completed', 'expired', 'cancelled') limit $1::integer
  ) returning 1`;
