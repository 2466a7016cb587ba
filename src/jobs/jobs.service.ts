import type { Database } from "../db/database.ts";
import type { EventStream } from "../events/bus.ts";
import type { EventsService } from "../events/events.service.ts";
import { filterStream } from "../events/filtered-stream.ts";
import type { DomainEvent } from "../events/topics.ts";
import { AppError } from "../kernel/errors.ts";
import {
  decodeTimeCursor,
  encodeTimeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../kernel/page.ts";
import { isId } from "../kernel/text/ids.ts";
import type { Reach } from "../keys/auth/permissions.ts";
import { isFinal, type JobState } from "./job.state.ts";
import { JobStream } from "./job-stream.ts";
import { findJob, type JobView, listJobs, positionOf, readResult } from "./job-view.store.ts";

export type { JobView } from "./job-view.store.ts";

type Dependencies = { readonly database: Database; readonly events: EventsService };

const MAX_CURRENT_JOBS = 100;

/** What owners see of their jobs. A job out of reach is as one that never was. */
export class JobsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** A job within reach. Throws `async_job_not_found`. */
  async get(reach: Reach, id: string): Promise<JobView> {
    const job = await this.find(reach, id);
    if (!job) throw jobNotFound();
    return job;
  }

  /** A job within reach, undefined if there is none with this id. */
  async find(reach: Reach, id: string): Promise<JobView | undefined> {
    return isId(id) ? findJob(this.#dependencies.database, reach, id) : undefined;
  }

  /** The result of a job that `get` found, while it is kept. */
  result({ id }: JobView): Promise<string | undefined> {
    return readResult(this.#dependencies.database, id);
  }

  /** The jobs within reach, newest first; of one state or all. */
  async list(reach: Reach, page: PageRequest, state?: JobState): Promise<Page<JobView>> {
    const after = page.after === undefined ? undefined : decodeTimeCursor(page.after);
    if (after && !isId(after.id))
      throw new AppError("invalid_cursor", "This cursor is not one of ours.", { param: "after" });
    const limit = pageLimit(page);
    return toPage(await listJobs(this.#dependencies.database, reach, { limit, state, after }), page);
  }

  /**
   * The steps of one job: how it stands, then every later one, to its end. With `after`, in place of how it stands,
   * the steps behind that cursor. Throws `async_job_not_found` and what `EventsService.follow` throws.
   */
  async followOne(reach: Reach, id: string, after?: string): Promise<EventStream<"job.progressed">> {
    await this.get(reach, id);
    const source = await this.#follow(reach, after);
    return this.#orEnd(source, async () => {
      const upTo = await this.#dependencies.events.position("job.progressed");
      const job = await this.get(reach, id);
      if (after === undefined) return new JobStream(source, { present: [toEvent(job, upTo)], jobId: job.id });
      const stream = new JobStream(source, { present: [], jobId: job.id });
      if (await this.#isToldBy(job, this.#dependencies.events.positionOf(after))) await stream.return();
      return stream;
    });
  }

  /**
   * The steps of all jobs within reach: how those stand that are not at their end (the newest 100 of a state), then
   * every later step. With `after`, in place of how they stand, the steps behind that cursor.
   */
  async followAll(reach: Reach, after?: string): Promise<EventStream<"job.progressed">> {
    const source = await this.#follow(reach, after);
    if (after !== undefined) return new JobStream(source, { present: [] });
    return this.#orEnd(source, async () => {
      const upTo = await this.#dependencies.events.position("job.progressed");
      const states = ["pending", "processing"] as const;
      const { database } = this.#dependencies;
      const jobs = await Promise.all(
        states.map((state) => listJobs(database, reach, { limit: MAX_CURRENT_JOBS, state })),
      );
      const present = jobs.flat().map((job) => toEvent(job, upTo));
      return new JobStream(source, { present });
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
    return keyId === undefined ? stream : filterStream(stream, ({ data }) => data.keyId === keyId);
  }

  async #orEnd<T>(source: EventStream, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await source.return?.();
      throw error;
    }
  }

  /** Whether a reader who has all up to `position` knows a job's end. */
  async #isToldBy(job: JobView, position: bigint): Promise<boolean> {
    if (!isFinal(job.state)) return false;
    const told = await positionOf(this.#dependencies.database, job);
    return told === "gone" || (told !== "waiting" && told <= position);
  }
}

/** Where a list goes on after this job. */
export function jobCursor({ createdAt, id }: JobView): string {
  return encodeTimeCursor(createdAt, id);
}

/** The failure for a job that is not there, or out of reach (promises F29). */
export function jobNotFound(): AppError {
  return new AppError("async_job_not_found", "There is no such job.");
}

/** The newest step of a job, as the event that told it; `upTo` is published before this was read. */
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
