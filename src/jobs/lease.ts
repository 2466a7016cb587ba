import type { Database, Transaction } from "../db/database.ts";
import type { Clock } from "../kernel/clock.ts";
import {
  advanceJob,
  type ClaimedJob,
  endJob,
  lockLeased,
  type StepChange,
  saveCheckpoint,
} from "./job.store.ts";

/** Another worker holds the job: this worker may not write it any more. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** How a job ends: completed with a result stored for `retentionSeconds`, or without one. */
export type JobEnd =
  | {
      readonly state: "completed";
      /** JSON in UTF-8. */
      readonly result: Uint8Array;
      readonly retentionSeconds: number;
      readonly change: StepChange;
    }
  | { readonly state: "completed" | "failed" | "cancelled"; readonly change: StepChange };

type Dependencies = { readonly database: Database; readonly clock: Clock; readonly committed: () => void };

/** A job while this process may work on it. Every write throws `LeaseLost` once another process holds the job. */
export class JobLease {
  readonly job: ClaimedJob;
  readonly #dependencies: Dependencies;
  readonly #leaseMs: number;
  readonly #interrupted = new AbortController();
  readonly #claimedAtMs: number;
  #renewedAtMs: number;

  constructor(dependencies: Dependencies, job: ClaimedJob, leaseMs: number) {
    this.#dependencies = dependencies;
    this.job = job;
    this.#leaseMs = leaseMs;
    this.#claimedAtMs = dependencies.clock.monotonicMs();
    this.#renewedAtMs = this.#claimedAtMs;
  }

  /** Aborts when the work must stop at once: the lease is lost or expiring, or the process is stopping. */
  get signal(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** Milliseconds until the job's deadline, negative after it. */
  get leftMs(): number {
    return this.job.leftMs - (this.#dependencies.clock.monotonicMs() - this.#claimedAtMs);
  }

  /** Milliseconds since the job was created. */
  get ageMs(): number {
    return this.job.ageMs + (this.#dependencies.clock.monotonicMs() - this.#claimedAtMs);
  }

  /** Stores what another worker needs to resume here, before an action that must not be repeated. */
  async save(checkpoint: object): Promise<void> {
    this.#requireHeld(await saveCheckpoint(this.#dependencies.database, this.job, checkpoint));
  }

  /** Stores a checkpoint and publishes the step that led to it. */
  async advance(checkpoint: object, change: StepChange): Promise<void> {
    this.#requireHeld(await advanceJob(this.#dependencies.database, this.job, checkpoint, change));
    this.#dependencies.committed();
  }

  /** Ends the job as `decide` returns, in the same transaction as the writes of `decide`. */
  async end(decide: (tx: Transaction) => Promise<JobEnd>): Promise<void> {
    await this.#dependencies.database.transaction(async (tx) => {
      this.#requireHeld(await lockLeased(tx, this.job));
      const { change, ...end } = await decide(tx);
      await endJob(tx, this.job.id, end, change);
    });
    this.#dependencies.committed();
  }

  /** Records that the lease was renewed by a request sent at `requestedAtMs`, a monotonic time. */
  markRenewed(requestedAtMs: number): void {
    this.#renewedAtMs = requestedAtMs;
  }

  /** Interrupts the work when the lease was not renewed and expires within `aheadMs`. */
  interruptIfOver(aheadMs: number): void {
    const unrenewedMs = this.#dependencies.clock.monotonicMs() - this.#renewedAtMs;
    if (unrenewedMs >= this.#leaseMs - aheadMs) this.interrupt();
  }

  interrupt(): void {
    this.#interrupted.abort(new LeaseLost(`the lease of job ${this.job.id} is over`));
  }

  #requireHeld(held: boolean): void {
    if (held) return;
    this.interrupt();
    throw new LeaseLost(`job ${this.job.id} was taken over`);
  }
}
