import type { Queries } from "../../db/database.ts";
import type { BatchEndpoint, BatchError, BatchState, BatchStatus, BatchTimes, EndReason } from "./batch.ts";

/** What of a batch its creator decides. */
export type NewBatch = Pick<
  BatchState,
  "endpoint" | "inputFileId" | "outputFileId" | "errorFileId" | "metadata"
> & { readonly id: string };

/** Whether a batch still reads its input: SQL about the file `f`. */
export const IS_READ = `exists (select 1 from batch b where b.input_file_id = f.id
    and b.status not in ('failed', 'completed', 'expired', 'cancelled'))`;

/** Writes the batch of a job. */
export async function insertBatch(tx: Queries, batch: NewBatch): Promise<void> {
  const { id, endpoint, inputFileId, outputFileId, errorFileId, metadata } = batch;
  await tx.rows(INSERT, [id, endpoint, inputFileId, outputFileId, errorFileId, JSON.stringify(metadata)]);
}

/** The batches of these jobs, by their ids. */
export async function readBatches(
  queries: Queries,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BatchState>> {
  const rows = await queries.rows<BatchRow>(READ, [JSON.stringify(ids)]);
  return new Map(rows.map((row) => [row.id, toState(row)]));
}

/** Begins to run the lines of a checked batch. */
export async function startBatch(tx: Queries, id: string, lines: number): Promise<void> {
  await tx.rows(START, [id, lines]);
}

/** Ends the run of lines: those that are left are closed for this reason, unless there already is one. */
export async function stopBatch(queries: Queries, id: string, reason: EndReason): Promise<void> {
  await queries.rows(STOP, [id, JSON.stringify(reason)]);
}

/** Asks for the cancellation of a batch whose status allows it. False if it does not. */
export async function requestCancel(tx: Queries, id: string, reason: EndReason): Promise<boolean> {
  return (await tx.rows(CANCEL, [id, JSON.stringify(reason)])).length > 0;
}

/** Sets the status of a batch; the time is recorded. One that is being cancelled is not finalized. */
export async function setStatus(
  tx: Queries,
  id: string,
  status: BatchStatus,
  errors: readonly BatchError[] = [],
): Promise<void> {
  await tx.rows(SET_STATUS, [id, status, JSON.stringify(errors)]);
}

/** Counts lines that failed. */
export async function countFailed(tx: Queries, id: string, lines: number): Promise<void> {
  await tx.rows(COUNT_FAILED, [id, lines]);
}

/** What a line was charged, neuron, and its tokens. */
type LineUsage = {
  readonly cost: bigint;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

/** Counts a line that was answered, and what it was charged, neuron. */
export async function countCompleted(tx: Queries, id: string, answered: LineUsage): Promise<void> {
  const { cost, inputTokens, cachedTokens, outputTokens, reasoningTokens } = answered;
  const tokens = [inputTokens, outputTokens, cachedTokens, reasoningTokens];
  await tx.rows(COUNT_COMPLETED, [id, cost.toString(), ...tokens]);
}

type BatchRow = {
  readonly id: string;
  readonly endpoint: BatchEndpoint;
  readonly input_file_id: string;
  readonly output_file_id: string;
  readonly error_file_id: string;
  readonly status: BatchStatus;
  readonly end_reason: string | null;
  readonly metadata: string | null;
  readonly errors: string;
  readonly lines: number;
  readonly completed: number;
  readonly failed: number;
  readonly cost: string;
  readonly input_tokens: string;
  readonly cached_tokens: string;
  readonly output_tokens: string;
  readonly reasoning_tokens: string;
  readonly times: string;
};

function toState(row: BatchRow): BatchState {
  return {
    endpoint: row.endpoint,
    inputFileId: row.input_file_id,
    outputFileId: row.output_file_id,
    errorFileId: row.error_file_id,
    status: row.status,
    endReason: row.end_reason === null ? null : (JSON.parse(row.end_reason) as EndReason),
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, string>),
    errors: JSON.parse(row.errors) as BatchError[],
    lines: row.lines,
    completed: row.completed,
    failed: row.failed,
    cost: BigInt(row.cost),
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
    times: JSON.parse(row.times) as BatchTimes,
  };
}

const INSERT = `
  insert into batch (id, endpoint, input_file_id, output_file_id, error_file_id, status, metadata)
  values ($1::uuid, $2::text, $3::uuid, $4::uuid, $5::uuid, 'validating', nullif($6::text::jsonb, 'null'))`;

const READ = `
  select id::text as id, endpoint, input_file_id::text as input_file_id, output_file_id::text as output_file_id,
    error_file_id::text as error_file_id, status, end_reason::text as end_reason, metadata::text as metadata,
    errors::text as errors, lines, completed, failed, cost::text as cost,
    input_tokens::text as input_tokens, cached_tokens::text as cached_tokens, output_tokens::text as output_tokens,
    reasoning_tokens::text as reasoning_tokens, times::text as times
  from batch where id in (select value::uuid from jsonb_array_elements_text($1::text::jsonb))`;

/** Records when a status began. */
const AT = (status: string) =>
  `times || jsonb_build_object(${status}, to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

const START = `
  update batch set status = case when status = 'validating' then 'in_progress' else status end, lines = $2::integer,
    times = ${AT("'in_progress'")}
  where id = $1::uuid`;

const STOP = `
  update batch set end_reason = coalesce(end_reason, $2::text::jsonb) where id = $1::uuid`;

const CANCEL = `
  update batch set status = 'cancelling', end_reason = coalesce(end_reason, $2::text::jsonb), times = ${AT("'cancelling'")}
  where id = $1::uuid and status in ('validating', 'in_progress', 'finalizing') returning 1`;

const SET_STATUS = `
  update batch set status = $2::text, errors = $3::text::jsonb, times = ${AT("$2::text")}
  where id = $1::uuid and ($2::text <> 'finalizing' or status = 'in_progress')`;

const COUNT_FAILED = "update batch set failed = failed + $2::integer where id = $1::uuid";

const COUNT_COMPLETED = `
  update batch set completed = completed + 1, cost = cost + $2::numeric, input_tokens = input_tokens + $3::bigint,
    output_tokens = output_tokens + $4::bigint, cached_tokens = cached_tokens + $5::bigint,
    reasoning_tokens = reasoning_tokens + $6::bigint
  where id = $1::uuid`;
