import type { Queries } from "../db/database.ts";
import type { BatchProgress, JobStep } from "../events/topics.ts";
import { type JobState, statesBefore } from "./job.state.ts";

/** A job to create. `spec` and `checkpoint` are plain JSON; its first step is `queued`. */
export type NewJob = {
  readonly id: string;
  readonly kind: string;
  readonly account: string;
  /** The `sk-` key that creates it. */
  readonly keyId: string;
  /** The request that it is billed as, whose funds are held; null for a job of several requests. */
  readonly requestId: string | null;
  readonly spec: object;
  readonly checkpoint: object;
  readonly provider: string | null;
  /** The body of the request, as sent to the provider. */
  readonly body: Buffer;
  /** The first step of a batch. */
  readonly batch?: BatchProgress;
  /** After this time the job is ended, whatever its state. */
  readonly deadlineSeconds: number;
  /** How much longer than the deadline its funds stay held. */
  readonly graceSeconds: number;
};

/** A job that a worker claimed. `fence` grows with each claim: only the holder of the greatest may write. */
export type ClaimedJob = {
  readonly id: string;
  readonly fence: number;
  readonly account: string;
  /** Empty for a job of several requests. */
  readonly requestId: string;
  readonly spec: unknown;
  readonly checkpoint: unknown;
  readonly step: JobStep;
  readonly body: Buffer;
  /** Milliseconds until its deadline; negative after it. */
  readonly leftMs: number;
  /** Milliseconds since it was created. */
  readonly ageMs: number;
};

/** The claim under which a worker writes a job. */
export type Fenced = { readonly id: string; readonly fence: number };

/** The fields in which a step differs from the previous one. */
export type StepChange = Partial<Omit<JobStep, "account" | "keyId" | "jobId" | "sequence" | "status">>;

/** Writes a new job, its content and its first event, and extends its hold to the job's deadline and grace. */
export async function insertJob(tx: Queries, job: NewJob): Promise<void> {
  const step: JobStep = {
    account: job.account,
    keyId: job.keyId,
    jobId: job.id,
    sequence: 1,
    status: "pending",
    step: "queued",
    provider: job.provider,
    attempt: 0,
    fraction: null,
    result: null,
    errorCode: null,
    errorMessage: null,
    ...(job.batch && { batch: job.batch }),
  };
  await tx.rows(INSERT, [
    job.id,
    job.kind,
    job.account,
    job.requestId,
    JSON.stringify(job.spec),
    JSON.stringify(job.checkpoint),
    JSON.stringify(step),
    job.body.toString("base64"),
    job.deadlineSeconds,
    job.graceSeconds,
    job.keyId,
  ]);
}

/** Writes a step of a running job, and its checkpoint. False when the lease was lost. */
export async function advanceJob(
  queries: Queries,
  { id, fence }: Fenced,
  checkpoint: object,
  change: StepChange,
): Promise<boolean> {
  const parameters = [id, fence, JSON.stringify(checkpoint), JSON.stringify(change)];
  return (await queries.rows(ADVANCE, parameters)).length > 0;
}

/** Writes a checkpoint without publishing an event. False when the lease was lost. */
export async function saveCheckpoint(
  queries: Queries,
  { id, fence }: Fenced,
  checkpoint: object,
): Promise<boolean> {
  return (await queries.rows(SAVE, [id, fence, JSON.stringify(checkpoint)])).length > 0;
}

/** Locks a job until the transaction ends. False when the lease was lost. */
export async function lockLeased(tx: Queries, { id, fence }: Fenced): Promise<boolean> {
  return (await tx.rows(LOCK_LEASED, [id, fence])).length > 0;
}

/** As `lockLeased`, for a transaction that only requires that no other worker takes over before it ends. */
export async function shareLeased(tx: Queries, { id, fence }: Fenced): Promise<boolean> {
  return (await tx.rows(SHARE_LEASED, [id, fence])).length > 0;
}

/** Ends a job locked by `lockLeased`: completed with a result stored for `retentionSeconds`, or without a result. */
export async function endJob(
  tx: Queries,
  id: string,
  end:
    | { readonly state: "completed"; readonly result: Uint8Array; readonly retentionSeconds: number }
    | { readonly state: "completed" | "failed" | "cancelled" },
  change: StepChange,
): Promise<void> {
  if ("result" in end) await tx.rows(KEEP_RESULT, [id, end.result, end.retentionSeconds]);
  else await tx.rows(DROP_CONTENT, [id]);
  const state = JSON.stringify({ ...change, status: end.state, step: end.state });
  const rows = await tx.rows(ENDS[end.state], [id, state]);
  if (rows.length === 0) throw new Error(`job ${id} could not be ended`);
}

/** How many jobs of this kind an account has that have not ended. */
export async function countUnfinished(queries: Queries, kind: string, account: string): Promise<number> {
  const [row] = await queries.rows<{ count: number }>(COUNT_UNFINISHED, [kind, account]);
  return row?.count ?? 0;
}

/** Locks a job of this account until the transaction ends, and returns its state. */
export async function lockOwned(tx: Queries, account: string, id: string): Promise<JobState | undefined> {
  const [row] = await tx.rows<{ state: JobState }>(LOCK_OWNED, [id, account]);
  return row?.state;
}

/** Cancels a job locked by `lockOwned`. False when it is not pending. */
export async function cancelJob(tx: Queries, id: string, step: StepChange = {}): Promise<boolean> {
  const change = JSON.stringify({ ...step, status: "cancelled", step: "cancelled" });
  const rows = await tx.rows(CANCEL, [id, change]);
  if (rows.length > 0) await tx.rows(DROP_CONTENT, [id]);
  return rows.length > 0;
}

/** Publishes the newest step of jobs in the statement that changes them; `changed` has their rows. */
export const PUBLISH = (changed: string) => `
  insert into outbox (event_id, topic, subject, data)
  select event_id, 'job.progressed', account, step from ${changed}`;

/** Sets the next step of a job: the previous one merged with a change, which is JSON text in `parameter`. */
const STEP = (parameter: string) => `
  seq = j.seq + 1, event_id = gen_random_uuid(), updated_at = now(),
  step = j.step || ${parameter}::text::jsonb || jsonb_build_object('sequence', j.seq + 1)`;

const INSERT = `
  with created as (
    insert into job (id, kind, account, request_id, state, seq, spec, checkpoint, step, event_id, deadline, api_key_id)
    values ($1::uuid, $2::text, $3::text, $4::text, 'pending', 1, $5::text::jsonb, $6::text::jsonb, $7::text::jsonb,
      gen_random_uuid(), now() + make_interval(secs => $9::integer), $11::uuid)
    returning *
  ), content as (
    insert into job_content (id, request) select id, decode($8::text, 'base64') from created
  ), held as (
    update hold set expires_at = now() + make_interval(secs => $9::integer + $10::integer) where id = $4::text
  )
  ${PUBLISH("created")}`;

/** The job `j` of the holder with the id $1 and the fence $2. */
export const HELD = "j.id = $1::uuid and j.fence = $2::integer and j.state = 'processing'";

const ADVANCE = `
  with changed as (
    update job j set checkpoint = $3::text::jsonb, ${STEP("$4")} where ${HELD} returning j.*
  ), published as (${PUBLISH("changed")})
  select 1 from changed`;

const SAVE = `update job j set checkpoint = $3::text::jsonb where ${HELD} returning 1`;

const LOCK_LEASED = `select 1 from job j where ${HELD} for update`;

const SHARE_LEASED = `select 1 from job j where ${HELD} for key share`;

const END = (state: JobState, transition: "complete" | "fail" | "stop" | "cancel") => `
  with changed as (
    update job j set state = '${state}', leased_until = null, finished_at = now(), ${STEP("$2")}
    where j.id = $1::uuid and j.state in ${statesBefore(transition)}
    returning j.*
  ), published as (${PUBLISH("changed")})
  select 1 from changed`;

const ENDS = {
  completed: END("completed", "complete"),
  failed: END("failed", "fail"),
  cancelled: END("cancelled", "stop"),
} as const;
const CANCEL = END("cancelled", "cancel");

const KEEP_RESULT = `
  update job_content set request = null, result = $2::text, expires_at = now() + make_interval(secs => $3::integer)
  where id = $1::uuid`;

const DROP_CONTENT = "delete from job_content where id = $1::uuid";

const LOCK_OWNED = "select state from job where id = $1::uuid and account = $2::text for update";

const COUNT_UNFINISHED = `
  select count(*)::int as count from job
  where kind = $1::text and account = $2::text and state in ('pending', 'processing')`;
