import type { Queries } from "../db/database.ts";

/** The unfinished jobs of all processes. */
export type JobQueue = {
  readonly waiting: number;
  readonly running: number;
  /** Age of the oldest waiting job, seconds; 0 if none waits. */
  readonly oldestWaitingSeconds: number;
};

/** The unfinished jobs of one kind, such as `batch`. */
export type JobQueueOfKind = JobQueue & { readonly kind: string };

/** More are not counted: a queue of this length needs an operator either way. */
const MAX_COUNTED = 10_000;

/** The state of the job queue, from the index of unfinished jobs. */
export async function readJobQueue(queries: Queries): Promise<JobQueue> {
  const [row] = await queries.rows<{ waiting: number; running: number; oldest: number }>(
    `select count(*) filter (where state = 'pending')::int as waiting,
            count(*) filter (where state = 'processing')::int as running,
            coalesce(greatest(extract(epoch from now() - min(created_at) filter (where state = 'pending')), 0), 0)::float8
              as oldest
     from (select state, created_at from job where state in ('pending', 'processing') limit ${MAX_COUNTED}) unfinished`,
  );
  return {
    waiting: row?.waiting ?? 0,
    running: row?.running ?? 0,
    oldestWaitingSeconds: row?.oldest ?? 0,
  };
}

/** The state of the queue of each kind of job that has unfinished ones, from the same index. */
export async function readJobQueues(queries: Queries): Promise<readonly JobQueueOfKind[]> {
  return queries.rows<JobQueueOfKind>(
    `select kind, count(*) filter (where state = 'pending')::int as waiting,
            count(*) filter (where state = 'processing')::int as running,
            coalesce(greatest(extract(epoch from now() - min(created_at) filter (where state = 'pending')), 0), 0)::float8
              as "oldestWaitingSeconds"
     from (select kind, state, created_at from job where state in ('pending', 'processing') limit ${MAX_COUNTED}) unfinished
     group by kind order by kind`,
  );
}
