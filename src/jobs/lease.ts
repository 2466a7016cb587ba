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

/** Another worker has the job: nothing that this one still wants to write may be written. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** How a job ends: completed with a result that is kept for so long, or failed. */
export type JobEnd =
  | {
      readonly state: "completed";
      /** JSON in UTF-8. */
      readonly result: Uint8Array;
      readonly keptSeconds: number;
      readonly change: StepChange;
    }
  | { readonly state: "failed"; readonly change: StepChange };

type Dependencies = { readonly database: Database; readonly clock: Clock; readonly committed: () => void };

/** A job while this process may work on it. Every write is refused with `LeaseLost` once another process has it. */
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

  /** Aborts when the work must end here and now: the lease is over, or the process is. */
  get signal(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** Milliseconds until the job's deadline, negative when that is past. */
  get leftMs(): number {
    return this.job.leftMs - (this.#dependencies.clock.monotonicMs() - this.#claimedAtMs);
  }

  /** Milliseconds since the job was made. */
  get ageMs(): number {
    return this.job.ageMs + (this.#dependencies.clock.monotonicMs() - this.#claimedAtMs);
  }

  /** Keeps what a worker needs that goes on from here, before something is done that must not be done again. */
  async save(checkpoint: object): Promise<void> {
    this.#mustHold(await saveCheckpoint(this.#dependencies.database, this.job, checkpoint));
  }

  /** Keeps a checkpoint and tells the step that led to it. */
  async advance(checkpoint: object, change: StepChange): Promise<void> {
    this.#mustHold(await advanceJob(this.#dependencies.database, this.job, checkpoint, change));
    this.#dependencies.committed();
  }

  /** Ends the job as `decide` says, in one transaction with whatever it does. */
  async end(decide: (tx: Transaction) => Promise<JobEnd>): Promise<void> {
    await this.#dependencies.database.transaction(async (tx) => {
      this.#mustHold(await lockLeased(tx, this.job));
      const { change, ...end } = await decide(tx);
      await endJob(tx, this.job.id, end, change);
    });
    this.#dependencies.committed();
  }

  /** Notes that the lease was renewed; `askedAtMs` is monotonic. */
  markRenewed(askedAtMs: number): void {
    this.#renewedAtMs = askedAtMs;
  }

  /** Interrupts the work when the lease was not renewed and ends within `aheadMs`. */
  interruptIfOver(aheadMs: number): void {
    const unrenewedMs = this.#dependencies.clock.monotonicMs() - this.#renewedAtMs;
    if (unrenewedMs >= this.#leaseMs - aheadMs) this.interrupt();
  }

  interrupt(): void {
    this.#interrupted.abort(new LeaseLost(`the lease of job ${this.job.id} is over`));
  }

  #mustHold(held: boolean): void {
    if (held) return;
    this.interrupt();
    throw new LeaseLost(`job ${this.job.id} was taken over`);
  }
}
