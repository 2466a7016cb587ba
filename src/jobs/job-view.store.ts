import { countRows, type RowCount } from "../db/count-rows.ts";
import type { Queries } from "../db/database.ts";
import { Parameters } from "../db/parameters.ts";
import type { JobStep } from "../events/topics.ts";
import type { Scan } from "../kernel/page.ts";
import type { Reach } from "../keys/auth/permissions.ts";
import type { JobState } from "./job.state.ts";

/** A job as its owner sees it. `spec` is that of `NewJob`. */
export type JobView = {
  readonly id: string;
  readonly account: string;
  /** The `sk-` key that created it. */
  readonly keyId: string | null;
  /** The request that it is billed as; empty for a job of several requests. */
  readonly requestId: string;
  readonly state: JobState;
  readonly spec: unknown;
  readonly checkpoint: unknown;
  readonly step: JobStep;
  /** The id of the event that published `step`. */
  readonly eventId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | null;
  /** After this time it is ended, whatever its state. */
  readonly deadline: Date;
  /** When the result expires; null when there is no result, or it was deleted. */
  readonly resultExpiresAt: Date | null;
  /** The stored size of the result; null when there is no result, or it expired. */
  readonly resultBytes: number | null;
};

/** The jobs of one kind that a caller may access. */
export type JobReach = Reach & { readonly kind: string };

/** Filters jobs; every condition must hold. */
export type JobFilter = {
  readonly states?: readonly JobState[] | undefined;
  /** The model in the job's `spec`. */
  readonly modelId?: string | undefined;
  /** The `sk-` key that created it. */
  readonly keyId?: string | undefined;
  /** Created at this time or later. */
  readonly from?: Date | undefined;
  /** Created before this time. */
  readonly before?: Date | undefined;
};

/** The job with this id, if the caller may access it. */
export async function findJob(
  queries: Queries,
  { account, keyId, kind }: JobReach,
  id: string,
): Promise<JobView | undefined> {
  const [row] = await (keyId === undefined
    ? queries.rows<JobRow>(find(""), [account, id, kind])
    : queries.rows<JobRow>(find("and j.api_key_id = $4::uuid"), [account, id, kind, keyId]));
  return row && toView(row);
}

/** At most `limit` jobs that the caller may access and a filter matches, in the order of `scan`, beyond `from`. */
export async function listJobs(
  queries: Queries,
  reach: JobReach,
  query: {
    readonly limit: number;
    readonly scan: Scan;
    readonly filter?: JobFilter;
    readonly from?: { readonly at: Date; readonly id: string } | undefined;
  },
): Promise<readonly JobView[]> {
  const { from, filter = {}, scan, limit } = query;
  const start = from ? [from.at.toISOString(), from.id] : [ENDS[scan.order], NO_ID];
  const where = new Parameters(reach.account, limit, ...start);
  const text = `
    select ${COLUMNS} from job j left join job_content c on c.id = j.id
    where (j.created_at, j.id) ${scan.beyond} ($3::timestamptz, $4::uuid) and ${conditionsOf(where, reach, filter)}
    order by j.created_at ${scan.order}, j.id ${scan.order} limit $2::integer`;
  return (await queries.rows<JobRow>(text, where.values)).map(toView);
}

/**
 * The unfinished jobs that the caller may access, each in its current state: the newest `limit` per state. All states
 * are read at one moment: a job that moves on is neither in two of them nor in none.
 */
export async function listUnfinished(
  queries: Queries,
  { account, keyId, kind }: JobReach,
  limit: number,
): Promise<readonly JobView[]> {
  const rows = await (keyId === undefined
    ? queries.rows<JobRow>(unfinished(""), [account, kind, limit])
    : queries.rows<JobRow>(unfinished("and j.api_key_id = $4::uuid"), [account, kind, limit, keyId]));
  return rows.map(toView);
}

/** How many jobs the caller may access and a filter matches. */
export function countJobs(queries: Queries, reach: JobReach, filter: JobFilter): Promise<RowCount> {
  const where = new Parameters(reach.account);
  const text = `select 1 from job j where ${conditionsOf(where, reach, filter)}`;
  return countRows(queries, { text, values: where.values }, "j.created_at, j.id");
}

function conditionsOf(where: Parameters, { keyId, kind }: JobReach, filter: JobFilter): string {
  return [
    "j.account = $1::text",
    ...where.when(kind, (parameter) => `j.kind = ${parameter}::text`),
    ...where.when(keyId, (parameter) => `j.api_key_id = ${parameter}::uuid`),
    ...where.when(filter.states, (parameter) => `j.state = any(${parameter}::text[])`),
    ...where.when(filter.modelId, (parameter) => `j.spec ->> 'model' = ${parameter}::text`),
    ...where.when(filter.keyId, (parameter) => `j.api_key_id = ${parameter}::uuid`),
    ...where.when(filter.from?.toISOString(), (parameter) => `j.created_at >= ${parameter}::timestamptz`),
    ...where.when(filter.before?.toISOString(), (parameter) => `j.created_at < ${parameter}::timestamptz`),
  ].join(" and ");
}

/** The result of a job, until it expires. */
export async function readResult(queries: Queries, id: string): Promise<string | undefined> {
  const [row] = await queries.rows<{ result: string | null }>(RESULT, [id]);
  return row?.result ?? undefined;
}

/** Deletes at most `limit` expired results and returns the count. */
export async function forgetResults(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(FORGET, [limit])).length;
}

/** The position of the event of a job's newest step: `waiting` until it is published, `gone` once it is deleted. */
export async function positionOf(
  queries: Queries,
  { account, eventId }: JobView,
): Promise<bigint | "waiting" | "gone"> {
  const [row] = await queries.rows<{ position: string | null }>(POSITION, [account, eventId]);
  if (!row) return "gone";
  return row.position === null ? "waiting" : BigInt(row.position);
}

type JobRow = {
  readonly id: string;
  readonly account: string;
  readonly key_id: string | null;
  readonly request_id: string | null;
  readonly state: JobState;
  readonly spec: string;
  readonly checkpoint: string;
  readonly step: string;
  readonly event_id: string;
  readonly created_ms: string;
  readonly updated_ms: string;
  readonly finished_ms: string | null;
  readonly deadline_ms: string;
  readonly expires_ms: string | null;
  readonly result_bytes: number | null;
};

function toView(row: JobRow): JobView {
  const date = (ms: string | null) => (ms === null ? null : new Date(Number(ms)));
  return {
    id: row.id,
    account: row.account,
    keyId: row.key_id,
    requestId: row.request_id ?? "",
    state: row.state,
    spec: JSON.parse(row.spec),
    checkpoint: JSON.parse(row.checkpoint),
    step: JSON.parse(row.step) as JobStep,
    eventId: row.event_id,
    createdAt: new Date(Number(row.created_ms)),
    updatedAt: new Date(Number(row.updated_ms)),
    finishedAt: date(row.finished_ms),
    deadline: new Date(Number(row.deadline_ms)),
    resultExpiresAt: date(row.expires_ms),
    resultBytes: row.result_bytes,
  };
}

const MS = (column: string, name: string) =>
  `floor(extract(epoch from ${column}) * 1000)::bigint::text as ${name}`;

const COLUMNS = `j.id::text as id, j.account, j.api_key_id::text as key_id, j.request_id, j.state, j.spec::text as spec,
  j.checkpoint::text as checkpoint, j.step::text as step,
  j.event_id::text as event_id, ${MS("j.created_at", "created_ms")}, ${MS("j.updated_at", "updated_ms")},
  ${MS("j.finished_at", "finished_ms")}, ${MS("c.expires_at", "expires_ms")}, ${MS("j.deadline", "deadline_ms")},
  case when c.expires_at > now() then octet_length(c.result) end as result_bytes`;

function find(condition: "" | "and j.api_key_id = $4::uuid"): string {
  return `
    select ${COLUMNS} from job j left join job_content c on c.id = j.id
    where j.account = $1::text and j.id = $2::uuid and j.kind = $3::text ${condition}`;
}

function unfinished(condition: "" | "and j.api_key_id = $4::uuid"): string {
  return `
    select ${COLUMNS} from (values ('pending'), ('processing')) as wanted (state), lateral (
      select * from job j
      where j.account = $1::text and j.kind = $2::text and j.state = wanted.state ${condition}
      order by j.created_at desc, j.id desc limit $3::integer
    ) as j left join job_content c on c.id = j.id
    order by wanted.state, j.created_at desc, j.id desc`;
}

/** Beyond every time: where a list without a cursor begins. */
const ENDS = { asc: "-infinity", desc: "infinity" } as const;
const NO_ID = "00000000-0000-0000-0000-000000000000";

const RESULT = "select result from job_content where id = $1::uuid and expires_at > now()";

const FORGET = `
  delete from job_content where id in (
    select id from job_content where expires_at < now() order by expires_at limit $1::integer
    for update skip locked
  ) returning 1`;

const POSITION = `
  select position::text as position from outbox
  where topic = 'job.progressed' and subject = $1::text and event_id = $2::uuid and position is not null
  union all
  select null from outbox where event_id = $2::uuid and position is null`;
