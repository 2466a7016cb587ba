import type { Queries } from "../db/database.ts";
import type { JobStep } from "../events/topics.ts";
import { statesBefore } from "./job.state.ts";
import { type ClaimedJob, type Fenced, HELD, PUBLISH } from "./job.store.ts";

/** The longest delay before a job is retried, and how often the delay is doubled. */
const MAX_REST_SECONDS = 60;
const MAX_DOUBLINGS = 10;

/** What to claim. `bodyBytes`: no more jobs once the bodies of those before them have this size. */
export type ClaimQuery = {
  readonly kind: string;
  readonly limit: number;
  readonly bodyBytes: number;
  readonly leaseSeconds: number;
};

/** Claims at most `limit` unclaimed jobs, oldest first, each for `leaseSeconds`. */
export async function claimJobs(
  queries: Queries,
  { kind, limit, bodyBytes, leaseSeconds }: ClaimQuery,
): Promise<readonly ClaimedJob[]> {
  const rows = await queries.rows<ClaimedRow>(CLAIM, [kind, limit, leaseSeconds, bodyBytes]);
  return rows.map((row) => ({
    id: row.id,
    fence: row.fence,
    account: row.account,
    requestId: row.request_id ?? "",
    spec: JSON.parse(row.spec),
    checkpoint: JSON.parse(row.checkpoint),
    step: JSON.parse(row.step) as JobStep,
    body: Buffer.from(row.body ?? "", "base64"),
    leftMs: Number(row.left_ms),
    ageMs: Number(row.age_ms),
  }));
}

/** Renews leases. Returns the ids of those still held; the others were lost. */
export async function renewLeases(
  queries: Queries,
  held: readonly Fenced[],
  leaseSeconds: number,
): Promise<ReadonlySet<string>> {
  const rows = await queries.rows<{ id: string }>(RENEW, [JSON.stringify(held), leaseSeconds]);
  return new Set(rows.map(({ id }) => id));
}

/** Releases a lease, so that another worker may claim the job now. */
export async function releaseLease(queries: Queries, { id, fence }: Fenced): Promise<void> {
  await queries.rows(RELEASE, [id, fence]);
}

/**
 * Releases a lease after a failure: the job is retried after `restSeconds`, after twice that when it fails again without
 * a new checkpoint, and so on up to a minute; once soon after its deadline. The claim of such a retry is not published.
 */
export async function releaseForRetry(
  queries: Queries,
  { id, fence }: Fenced,
  restSeconds: number,
): Promise<void> {
  await queries.rows(RETRY, [id, fence, restSeconds]);
}

type ClaimedRow = {
  readonly id: string;
  readonly fence: number;
  readonly account: string;
  readonly request_id: string | null;
  readonly spec: string;
  readonly checkpoint: string;
  readonly step: string;
  readonly body: string | null;
  readonly left_ms: string;
  readonly age_ms: string;
};

const CLAIM = `
  with unclaimed as (
    select id, created_at, case when checkpoint -> 'retries' is null then 1 else 0 end as steps from job
    where kind = $1::text and state in ${statesBefore("claim")} and (leased_until is null or leased_until < now())
    order by created_at, id limit $2::integer for update skip locked
  ), sized as (
    select u.id, u.steps, coalesce(octet_length(content.request), 0) as bytes,
      sum(coalesce(octet_length(content.request), 0)) over (order by u.created_at, u.id) as total
    from unclaimed u left join job_content content on content.id = u.id
  ), free as (
    select id, steps from sized where total - bytes < $4::bigint
  ), claimed as (
    update job j set state = 'processing', fence = j.fence + 1,
      leased_until = now() + make_interval(secs => $3::integer),
      seq = j.seq + free.steps, updated_at = now(),
      event_id = case free.steps when 0 then j.event_id else gen_random_uuid() end,
      step = case free.steps when 0 then j.step else j.step || jsonb_build_object(
        'sequence', j.seq + 1, 'status', 'processing', 'step',
        case when j.state = 'pending' then 'started' else 'resumed' end) end
    from free where j.id = free.id
    returning j.*, free.steps
  ), published as (${PUBLISH("claimed")} where steps > 0)
  select c.id::text as id, c.fence, c.account, c.request_id, c.spec::text as spec,
    (c.checkpoint - 'retries')::text as checkpoint,
    c.step::text as step, encode(content.request, 'base64') as body,
    floor(extract(epoch from c.deadline - now()) * 1000)::bigint::text as left_ms,
    floor(extract(epoch from now() - c.created_at) * 1000)::bigint::text as age_ms
  from claimed c left join job_content content on content.id = c.id
  order by c.created_at, c.id`;

const RENEW = `
  update job j set leased_until = now() + make_interval(secs => $2::integer)
  from jsonb_to_recordset($1::text::jsonb) as a(id uuid, fence int)
  where j.id = a.id and j.fence = a.fence and j.state = 'processing'
  returning j.id::text as id`;

const RELEASE = `update job j set leased_until = now() where ${HELD} returning 1`;

/** `retries` is a member of the checkpoint, so that every new checkpoint removes it. */
const RETRY = `
  update job j set checkpoint = j.checkpoint || jsonb_build_object('retries', least(r.n + 1, ${MAX_DOUBLINGS})),
    leased_until = least(
      now() + make_interval(secs => least($3::integer * power(2, r.n), greatest($3::integer, ${MAX_REST_SECONDS}))),
      greatest(j.deadline, now() + make_interval(secs => $3::integer)))
  from (select id, coalesce((checkpoint ->> 'retries')::integer, 0) as n from job where id = $1::uuid) r
  where r.id = j.id and ${HELD} returning 1`;
