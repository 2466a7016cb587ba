import type { Database } from "../db/database.ts";
import type { Bus } from "../events/bus.ts";
import { BusListener } from "../events/bus-listener.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";
import { detached } from "../kernel/tracing.ts";
import type { ClaimedJob } from "./job.store.ts";
import { claimJobs, releaseForRetry, releaseLease, renewLeases } from "./job-claims.store.ts";
import { JobLease, LeaseLost } from "./lease.ts";

/** The work on a claimed job. It ends the job through its lease, or throws to have the job retried. */
type JobWork = (lease: JobLease) => Promise<void>;

type Dependencies = {
  readonly database: Database;
  /** Announces jobs that other processes accepted. */
  readonly bus: Pick<Bus, "subscribe">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Signals that events were committed. */
  readonly committed: () => void;
};

/** The jobs that a runner works on. */
export type JobQueue = {
  readonly kind: string;
  readonly work: JobWork;
  /** How many jobs this process works on at once. */
  readonly parallel: number;
  /** No more jobs are claimed while the bodies of those that this process works on have this size: 256 MiB by default. */
  readonly bodyBytes?: number;
};

const MAX_BODY_BYTES = 256 * 1_048_576;
/** Bodies that are read by one statement: more would be decoded in one turn of the event loop. */
const MAX_CLAIMED_BYTES = 4 * 1_048_576;

/** Lease timing, overridable in tests; whole seconds for times that the database computes. */
export type JobTiming = {
  readonly leaseSeconds: number;
  readonly renewMs: number;
  readonly pollMs: number;
  /** The delay before a job is first retried after its work threw; see `releaseForRetry`. */
  readonly restSeconds: number;
};

const TIMING: JobTiming = { leaseSeconds: 20, renewMs: 5_000, pollMs: 1_000, restSeconds: 5 };

/**
 * Claims jobs and runs their work, in any number of processes. A claim is a lease of 20 s that is renewed every 5 s; a
 * process that dies, hangs or loses the database loses it, and another resumes from the checkpoint (promises F40).
 * The fence rejects late writes of the previous holder. New jobs are announced on the bus and also polled for every
 * second, so that an outage of the bus delays them by one second at most.
 */
export class JobRunner {
  readonly #dependencies: Dependencies;
  readonly #queue: JobQueue;
  readonly #timing: JobTiming;
  readonly #held = new Map<string, { lease: JobLease; done: Promise<void> }>();
  readonly #announcements: BusListener<"job.progressed">;
  #timers: readonly NodeJS.Timeout[] = [];
  #claiming: Promise<void> | undefined;
  #renewing: Promise<void> | undefined;
  #again = false;
  #isStopped = false;

  constructor(dependencies: Dependencies, queue: JobQueue, timing: Partial<JobTiming> = {}) {
    this.#dependencies = dependencies;
    this.#queue = queue;
    this.#timing = { ...TIMING, ...timing };
    this.#announcements = new BusListener({
      bus: dependencies.bus,
      topic: "job.progressed",
      onEvent: ({ data }) => {
        if (data.step === "queued") this.nudge();
      },
      onLost: (error) =>
        dependencies.log.warn({ err: error }, "new jobs are not announced; polling for them every second"),
    });
  }

  /** The number of jobs running in this process. */
  get running(): number {
    return this.#held.size;
  }

  /** Claims jobs now, on every nudge or announcement, and every second until `stop`, which is final. */
  start(): void {
    if (this.#timers.length > 0) return;
    const { pollMs, renewMs } = this.#timing;
    this.#timers = [setInterval(() => this.nudge(), pollMs), setInterval(() => void this.renew(), renewMs)];
    this.#announcements.start();
    this.nudge();
  }

  /** Signals that a job may be waiting. */
  nudge(): void {
    if (this.#timers.length > 0) void this.take();
  }

  /** Claims waiting jobs, up to the limit of parallel jobs, and starts them. They belong to no trace. */
  take(): Promise<void> {
    this.#again = true;
    this.#claiming ??= detached(() => this.#claim()).finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  /** Renews the leases of all jobs running here, and interrupts the work whose lease was lost. */
  renew(): Promise<void> {
    this.#renewing ??= detached(() => this.#renew()).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** Interrupts all work and releases the leases, so that another process can resume at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.#announcements.stop();
    await this.#claiming;
    for (const { lease } of this.#held.values()) lease.interrupt();
    await Promise.all([this.#renewing, ...[...this.#held.values()].map(({ done }) => done)]);
  }

  async #claim(): Promise<void> {
    const { database, log, committed } = this.#dependencies;
    const { kind, parallel } = this.#queue;
    const { leaseSeconds } = this.#timing;
    while (this.#again) {
      this.#again = false;
      const limit = parallel - this.#held.size;
      const bodyBytes = this.#freeBytes();
      if (limit <= 0 || bodyBytes <= 0) return;
      try {
        const jobs = await claimJobs(database, { kind, limit, bodyBytes, leaseSeconds });
        if (jobs.length > 0) committed();
        for (const job of jobs) this.#begin(job);
        // More may wait, which were left because of their size.
        if (sizeOf(jobs) >= bodyBytes && !this.#isStopped) this.#again = true;
      } catch (error) {
        log.error({ err: error }, "jobs could not be claimed");
      }
    }
  }

  /** The size of the bodies that may be claimed now. */
  #freeBytes(): number {
    const { bodyBytes = MAX_BODY_BYTES } = this.#queue;
    const held = [...this.#held.values()].map(({ lease }) => lease.job);
    return Math.min(bodyBytes - sizeOf(held), MAX_CLAIMED_BYTES);
  }

  #begin(job: ClaimedJob): void {
    const { database, clock, committed } = this.#dependencies;
    const lease = new JobLease({ database, clock, committed }, job, this.#timing.leaseSeconds * 1_000);
    // A process that lost a job and claimed it again briefly has two leases, and only the newer one counts.
    this.#held.get(job.id)?.lease.interrupt();
    const held = { lease, done: Promise.resolve() };
    this.#held.set(job.id, held);
    held.done = this.#work(lease).finally(() => {
      if (this.#held.get(job.id) === held) this.#held.delete(job.id);
      this.nudge();
    });
  }

  async #work(lease: JobLease): Promise<void> {
    const { database, log } = this.#dependencies;
    const { id, fence } = lease.job;
    try {
      await this.#queue.work(lease);
      if (!lease.signal.aborted) return;
    } catch (error) {
      if (error instanceof LeaseLost) log.warn({ jobId: id, fence }, "another worker took over a job");
      else if (!lease.signal.aborted)
        log.error({ err: error, jobId: id }, "work on a job failed; it will be retried");
    }
    const released = lease.signal.aborted
      ? releaseLease(database, lease.job)
      : releaseForRetry(database, lease.job, this.#timing.restSeconds);
    await released.catch((error: unknown) =>
      log.warn({ err: error, jobId: id }, "the lease of a job could not be released; it will expire"),
    );
  }

  async #renew(): Promise<void> {
    const held = [...this.#held.values()].map(({ lease }) => lease);
    if (held.length === 0) return;
    const fenced = held.map(({ job: { id, fence } }) => ({ id, fence }));
    const requestedAtMs = this.#dependencies.clock.monotonicMs();
    try {
      const renewed = await renewLeases(this.#dependencies.database, fenced, this.#timing.leaseSeconds);
      // One that was not renewed is another worker's, even if this clock has stood still, as in a machine that slept.
      for (const lease of held)
        if (renewed.has(lease.job.id)) lease.markRenewed(requestedAtMs);
        else lease.interrupt();
    } catch (error) {
      this.#dependencies.log.warn({ err: error }, "leases of jobs could not be renewed");
    }
    // Interrupt before the lease expires for other workers, not only at the next renewal.
    for (const lease of held) lease.interruptIfOver(this.#timing.renewMs);
  }
}

function sizeOf(jobs: readonly ClaimedJob[]): number {
  return jobs.reduce((sum, { body }) => sum + body.length, 0);
}
