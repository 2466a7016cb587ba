import { queriesOf } from "../db/account-queries.ts";
import type { RowCount } from "../db/count-rows.ts";
import type { Database, Queries } from "../db/database.ts";
import type { EventStream } from "../events/bus.ts";
import type { EventsService } from "../events/events.service.ts";
import { filterStream } from "../events/filtered-stream.ts";
import { SnapshotStream } from "../events/snapshot-stream.ts";
import type { DomainEvent } from "../events/topics.ts";
import { AppError } from "../kernel/errors.ts";
import {
  encodeTimeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readTimeCursor,
  scanOf,
  toPage,
} from "../kernel/page.ts";
import { isId } from "../kernel/text/ids.ts";
import type { Reach } from "../keys/auth/permissions.ts";
import { isFinal } from "./job.state.ts";
import {
  countJobs,
  findJob,
  type JobFilter,
  type JobReach,
  type JobView,
  listJobs,
  listUnfinished,
  positionOf,
  readResult,
} from "./job-view.store.ts";

export type { JobFilter, JobView } from "./job-view.store.ts";

/** How a list is read: the filter, and a signal that cancels it. */
type ListOptions = { readonly filter?: JobFilter; readonly signal?: AbortSignal | undefined };

type Dependencies = {
  readonly database: Database;
  readonly events: EventsService;
  /** The kind of the jobs; all others are not found. */
  readonly kind: string;
};

/** The list of the jobs of one kind, in its cursors. */
const listOf = (kind: string) => `${kind}-jobs`;

const MAX_CURRENT_JOBS = 100;

/** The owner's view of jobs. A job that the caller may not access is reported as not found. */
export class JobsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** A job that the caller may access. Throws `async_job_not_found`. */
  async get(reach: Reach, id: string): Promise<JobView> {
    const job = await this.find(reach, id);
    if (!job) throw jobNotFound();
    return job;
  }

  /** A job that the caller may access, undefined if there is none with this id. */
  async find(reach: Reach, id: string): Promise<JobView | undefined> {
    return isId(id) ? findJob(this.#dependencies.database, this.#of(reach), id) : undefined;
  }

  /** The result of a job that `get` returned, until it expires. */
  result({ id }: JobView): Promise<string | undefined> {
    return readResult(this.#dependencies.database, id);
  }

  /** The jobs that the caller may access and a filter matches, newest first. Throws what `AccountReads` throws. */
  async list(
    reach: Reach,
    page: PageRequest,
    { filter = {}, signal }: ListOptions = {},
  ): Promise<Page<JobView>> {
    const from = readTimeCursor(page, listOf(this.#dependencies.kind));
    if (from && !isId(from.id)) throw invalidCursorOf(page);
    const query = { limit: pageLimit(page), scan: scanOf(page, "desc"), filter, from };
    return toPage(await listJobs(this.#queries(reach, filter, signal), this.#of(reach), query), page);
  }

  /** How many jobs the caller may access and a filter matches. Throws what `AccountReads` throws. */
  count(reach: Reach, { filter = {}, signal }: ListOptions = {}): Promise<RowCount> {
    return countJobs(this.#queries(reach, filter, signal), this.#of(reach), filter);
  }

  /** A condition that no index covers may read all jobs of the account. */
  #queries({ account }: Reach, { states, ...others }: JobFilter, signal: AbortSignal | undefined): Queries {
    const { database } = this.#dependencies;
    const isCovered = Object.values(others).every((value) => value === undefined);
    return isCovered ? database : queriesOf({ reads: database.reads, account, signal });
  }

  /**
   * The steps of one job: the current one, then every later one, until the job ends. With `after`, the steps after
   * that cursor instead of the current one. Throws `async_job_not_found` and what `EventsService.follow` throws.
   */
  async followOne(reach: Reach, id: string, after?: string): Promise<EventStream<"job.progressed">> {
    await this.get(reach, id);
    const source = await this.#follow(reach, after);
    return this.#endOnError(source, async () => {
      const upTo = await this.#dependencies.events.position("job.progressed");
      const job = await this.get(reach, id);
      if (after === undefined) return stepsOf(source, [toEvent(job, upTo)], job.id);
      const stream = stepsOf(source, [], job.id);
      if (await this.#isEndKnown(job, this.#dependencies.events.positionOf(after))) await stream.return();
      return stream;
    });
  }

  /**
   * The steps of all jobs that the caller may access: the current step of each unfinished job (the newest 100 per
   * state), then every later step. With `after`, the steps after that cursor instead of the current ones.
   */
  async followAll(reach: Reach, after?: string): Promise<EventStream<"job.progressed">> {
    const source = await this.#follow(reach, after);
    if (after !== undefined) return stepsOf(source, []);
    return this.#endOnError(source, async () => {
      const upTo = await this.#dependencies.events.position("job.progressed");
      const jobs = await listUnfinished(this.#dependencies.database, this.#of(reach), MAX_CURRENT_JOBS);
      const present = jobs.map((job) => toEvent(job, upTo));
      return stepsOf(source, present);
    });
  }

  async #follow(
    { account, keyId }: Reach,
    after: string | undefined,
  ): Promise<EventStream<"job.progressed">> {
    const stream = await this.#dependencies.events.follow(
      { topic: "job.progressed", subject: account },
      after,
    );
    const isBatch = this.#dependencies.kind === "batch";
    return filterStream(
      stream,
      ({ data }) => (data.batch !== undefined) === isBatch && (keyId === undefined || data.keyId === keyId),
    );
  }

  #of(reach: Reach): JobReach {
    return { ...reach, kind: this.#dependencies.kind };
  }

  async #endOnError<T>(source: EventStream, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await source.return?.();
      throw error;
    }
  }

  /** Whether a reader that has all events up to `position` has seen the job end. */
  async #isEndKnown(job: JobView, position: bigint): Promise<boolean> {
    if (!isFinal(job.state)) return false;
    const ended = await positionOf(this.#dependencies.database, job);
    return ended === "gone" || (ended !== "waiting" && ended <= position);
  }
}

/** The steps of one job, which end with its final step, or of all jobs in `source`. */
function stepsOf(
  source: EventStream<"job.progressed">,
  present: readonly DomainEvent<"job.progressed">[],
  jobId?: string,
): SnapshotStream<"job.progressed"> {
  return new SnapshotStream(source, {
    present,
    keyOf: ({ data }) => (jobId === undefined || data.jobId === jobId ? data.jobId : undefined),
    isLast: ({ data }) => jobId !== undefined && isFinal(data.status),
  });
}

/** The cursor from which the list of jobs of a kind resumes after this job. */
export function jobCursor(kind: string, { createdAt, id }: JobView): string {
  return encodeTimeCursor(listOf(kind), createdAt, id);
}

/** The error for a job that does not exist or that the caller may not access (promises F29). */
export function jobNotFound(): AppError {
  return new AppError("async_job_not_found", "There is no such job.");
}

/** The newest step of a job, as its event; `upTo` is a position published before the job was read. */
function toEvent(job: JobView, upTo: bigint): DomainEvent<"job.progressed"> {
  return {
    id: job.eventId,
    position: upTo,
    topic: "job.progressed",
    subject: job.account,
    at: job.updatedAt,
    data: job.step,
  };
}
