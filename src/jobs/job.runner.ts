import type { Database } from "../db/database.ts";
import type { Bus } from "../events/bus.ts";
import { BusListener } from "../events/bus-listener.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";
import { type ClaimedJob, claimJobs, releaseLease, renewLeases } from "./job.store.ts";
import { JobLease, LeaseLost } from "./lease.ts";

/** What is done with a job that was claimed. It ends the job through its lease, or throws to have it tried again. */
type JobWork = (lease: JobLease) => Promise<void>;

type Dependencies = {
  readonly database: Database;
  /** Tells of jobs that other processes took on. */
  readonly bus: Pick<Bus, "subscribe">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Says that events were committed. */
  readonly committed: () => void;
  readonly kind: string;
  readonly work: JobWork;
  /** How many jobs this process works on at once. */
  readonly parallel: number;
};

/** Timing of leases, for tests; whole seconds where the database counts. */
export type JobTiming = {
  readonly leaseSeconds: number;
  readonly renewMs: number;
  readonly pollMs: number;
  /** How long a job rests after work on it threw. */
  readonly restSeconds: number;
};

const TIMING: JobTiming = { leaseSeconds: 20, renewMs: 5_000, pollMs: 1_000, restSeconds: 5 };

/**
 * Claims jobs and has them worked on, in as many processes as there are. A claim is a lease of 20 s that is renewed
 * every 5 s; a process that dies, hangs or loses the database loses it, and another goes on from the checkpoint
 * (promises F40). What the loser still writes is refused by the fence. New jobs are heard of on the bus, and looked
 * for every second besides, so that a bus that is away delays them by that much at most.
 */
export class JobRunner {
  readonly #dependencies: Dependencies;
  readonly #timing: JobTiming;
  readonly #held = new Map<string, { lease: JobLease; done: Promise<void> }>();
  readonly #news: BusListener<"job.progressed">;
  #timers: readonly NodeJS.Timeout[] = [];
  #claiming: Promise<void> | undefined;
  #renewing: Promise<void> | undefined;
  #again = false;

  constructor(dependencies: Dependencies, timing: Partial<JobTiming> = {}) {
    this.#dependencies = dependencies;
    this.#timing = { ...TIMING, ...timing };
    this.#news = new BusListener({
      bus: dependencies.bus,
      topic: "job.progressed",
      heard: ({ data }) => {
        if (data.step === "queued") this.nudge();
      },
      lost: (error) =>
        dependencies.log.warn({ err: error }, "new jobs are not heard of; they are looked for every second"),
    });
  }

  /** How many jobs are being worked on here. */
  get running(): number {
    return this.#held.size;
  }

  /** Takes jobs now, when nudged or told of new ones, and every second until `stop`, for good. */
  start(): void {
    if (this.#timers.length > 0) return;
    const { pollMs, renewMs } = this.#timing;
    this.#timers = [setInterval(() => this.nudge(), pollMs), setInterval(() => void this.renew(), renewMs)];
    this.#news.start();
    this.nudge();
  }

  /** Says that there is a job to take. */
  nudge(): void {
    if (this.#timers.length > 0) void this.take();
  }

  /** Takes what jobs there are, as far as it may, and begins them. */
  take(): Promise<void> {
    this.#again = true;
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  /** Renews the leases of all jobs that are worked on here, and interrupts the work on those that were lost. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** Interrupts all work and gives the jobs back, for another process to go on at once. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.#news.stop();
    await this.#claiming;
    for (const { lease } of this.#held.values()) lease.interrupt();
    await Promise.all([this.#renewing, ...[...this.#held.values()].map(({ done }) => done)]);
  }

  async #claim(): Promise<void> {
    const { database, kind, parallel, log, committed } = this.#dependencies;
    while (this.#again) {
      this.#again = false;
      const limit = parallel - this.#held.size;
      if (limit <= 0) return;
      try {
        const jobs = await claimJobs(database, { kind, limit, leaseSeconds: this.#timing.leaseSeconds });
        if (jobs.length > 0) committed();
        for (const job of jobs) this.#begin(job);
      } catch (error) {
        log.error({ err: error }, "jobs could not be claimed");
      }
    }
  }

  #begin(job: ClaimedJob): void {
    const { database, clock, committed } = this.#dependencies;
    const lease = new JobLease({ database, clock, committed }, job, this.#timing.leaseSeconds * 1_000);
    // A process that lost a job and got it again has two of them for a moment, and only the newer one counts.
    this.#held.get(job.id)?.lease.interrupt();
    const held = { lease, done: Promise.resolve() };
    this.#held.set(job.id, held);
    held.done = this.#work(lease).finally(() => {
      if (this.#held.get(job.id) === held) this.#held.delete(job.id);
      this.nudge();
    });
  }

  async #work(lease: JobLease): Promise<void> {
    const { database, log, work } = this.#dependencies;
    const { id, fence } = lease.job;
    try {
      await work(lease);
      if (!lease.signal.aborted) return;
    } catch (error) {
      if (error instanceof LeaseLost) log.warn({ jobId: id, fence }, "another worker took over a job");
      else if (!lease.signal.aborted)
        log.error({ err: error, jobId: id }, "work on a job failed; it is tried again");
    }
    const rest = lease.signal.aborted ? 0 : this.#timing.restSeconds;
    await releaseLease(database, lease.job, rest).catch((error: unknown) =>
      log.warn({ err: error, jobId: id }, "a job could not be given back; its lease will run out"),
    );
  }

  async #renew(): Promise<void> {
    const held = [...this.#held.values()].map(({ lease }) => lease);
    if (held.length === 0) return;
    const asked = held.map(({ job: { id, fence } }) => ({ id, fence }));
    const askedAtMs = this.#dependencies.clock.monotonicMs();
    try {
      const kept = await renewLeases(this.#dependencies.database, asked, this.#timing.leaseSeconds);
      for (const lease of held) if (kept.has(lease.job.id)) lease.markRenewed(askedAtMs);
    } catch (error) {
      this.#dependencies.log.warn({ err: error }, "leases of jobs could not be renewed");
    }
    // Before it is over for all others, and not only at the next look.
    for (const lease of held) lease.interruptIfOver(this.#timing.renewMs);
  }
}
