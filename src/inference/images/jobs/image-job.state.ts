import type { StepChange } from "../../../jobs/job.store.ts";
import type { JobLease } from "../../../jobs/lease.ts";
import type { AttemptRecord } from "../../billing/ending.ts";
import type { ImageCandidate, ImageJobCheckpoint, ImageJobSpec } from "./image-job-plan.ts";

/** An image job while this worker holds its lease: what was ordered, and how far it has come. */
export class ImageJobState {
  readonly lease: JobLease;
  readonly spec: ImageJobSpec;
  #checkpoint: ImageJobCheckpoint;

  constructor(lease: JobLease) {
    this.lease = lease;
    this.spec = lease.job.spec as ImageJobSpec;
    this.#checkpoint = lease.job.checkpoint as ImageJobCheckpoint;
  }

  get checkpoint(): ImageJobCheckpoint {
    return this.#checkpoint;
  }

  /** Stores a change of the checkpoint, before an action that must not be repeated. Throws `LeaseLost`. */
  async save(change: Partial<ImageJobCheckpoint>): Promise<void> {
    this.#checkpoint = { ...this.#checkpoint, ...change };
    await this.lease.save(this.#checkpoint);
  }

  /** Stores a change of the checkpoint and publishes the step that led to it. Throws `LeaseLost`. */
  async advance(change: Partial<ImageJobCheckpoint>, step: StepChange): Promise<void> {
    this.#checkpoint = { ...this.#checkpoint, ...change };
    await this.lease.advance(this.#checkpoint, step);
  }

  /** The attempts so far and the current one, which ends now. */
  attempted({ address }: ImageCandidate, outcome: AttemptRecord["outcome"]): readonly AttemptRecord[] {
    const { attempts } = this.#checkpoint;
    const beforeMs = attempts.reduce((sum, { durationMs }) => sum + durationMs, 0);
    const durationMs = Math.max(0, Math.round(this.lease.ageMs - beforeMs));
    return [...attempts, { provider: address, outcome, durationMs }];
  }
}
