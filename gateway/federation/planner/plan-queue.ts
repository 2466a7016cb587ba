import { TransientMap } from "../../../src/kernel/transient-map.ts";
import type { Overrides, QueryPlan } from "../engine/planner.ts";

/** An operation that waits for its plan. */
export type PlanJob = {
  readonly operationText: string;
  readonly operationName: string | null;
  readonly overrides: Overrides;
  readonly resolve: (plan: QueryPlan) => void;
  readonly reject: (reason: Error) => void;
  /** Whether a planner process died while planning it before. */
  isRetried: boolean;
  /** Whether it waited too long, and was refused. */
  isLate: boolean;
};

/** Limits on the number of waiting jobs, the characters of their text, and the time each may wait. */
export type PlanQueueLimits = {
  readonly maxJobs: number;
  readonly maxCharacters: number;
  readonly waitMs: number;
};

/** Operations in planning order. One that waits too long for its turn, here or in a planner process, is late. */
export class PlanQueue {
  readonly #limits: PlanQueueLimits;
  readonly #onLate: (job: PlanJob) => void;
  #jobs: PlanJob[] = [];
  /** Of the jobs that wait, also of those that were taken and have not begun. */
  readonly #timers = new TransientMap<PlanJob, NodeJS.Timeout>();
  #characters = 0;

  constructor(limits: PlanQueueLimits, onLate: (job: PlanJob) => void) {
    this.#limits = limits;
    this.#onLate = onLate;
  }

  /** Whether a job with this many characters fits in the queue. */
  hasRoomFor(characters: number): boolean {
    const { maxJobs, maxCharacters } = this.#limits;
    return this.#jobs.length < maxJobs && this.#characters + characters <= maxCharacters;
  }

  add(job: PlanJob): void {
    this.#jobs.push(job);
    this.#wait(job);
  }

  /** Puts jobs that were taken before all others, in their order. A job that had begun waits anew. */
  putBack(jobs: readonly PlanJob[]): void {
    const waiting = jobs.filter(({ isLate }) => !isLate);
    this.#jobs = [...waiting, ...this.#jobs];
    for (const job of waiting) this.#wait(job);
  }

  /** The next job. It goes on waiting until `endWait`. */
  take(): PlanJob | undefined {
    const job = this.#jobs.shift();
    if (job) this.#characters -= job.operationText.length;
    return job;
  }

  /** The job begins, or is refused. */
  endWait(job: PlanJob): void {
    clearTimeout(this.#timers.get(job));
    this.#timers.delete(job);
  }

  #wait(job: PlanJob): void {
    this.#characters += job.operationText.length;
    if (this.#timers.has(job)) return;
    const onLate = () => {
      this.#timers.delete(job);
      job.isLate = true;
      const at = this.#jobs.indexOf(job);
      if (at >= 0) {
        this.#jobs.splice(at, 1);
        this.#characters -= job.operationText.length;
      }
      this.#onLate(job);
    };
    this.#timers.set(job, setTimeout(onLate, this.#limits.waitMs));
  }
}
