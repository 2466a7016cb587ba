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
};

/** Limits on the number of waiting jobs, the characters of their text, and the time each may wait. */
export type PlanQueueLimits = {
  readonly maxJobs: number;
  readonly maxCharacters: number;
  readonly waitMs: number;
};

/** Operations in planning order. One that waits too long leaves the queue through `onLate`. */
export class PlanQueue {
  readonly #limits: PlanQueueLimits;
  readonly #onLate: (job: PlanJob) => void;
  readonly #jobs = new Map<PlanJob, NodeJS.Timeout>();
  /** Jobs that precede all others: they have waited before. */
  readonly #first: PlanJob[] = [];
  #characters = 0;

  constructor(limits: PlanQueueLimits, onLate: (job: PlanJob) => void) {
    this.#limits = limits;
    this.#onLate = onLate;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** Whether a job with this many characters fits in the queue. */
  hasRoomFor(characters: number): boolean {
    return this.size < this.#limits.maxJobs && this.#characters + characters <= this.#limits.maxCharacters;
  }

  add(job: PlanJob): void {
    const timer = setTimeout(() => this.#remove(job) && this.#onLate(job), this.#limits.waitMs);
    this.#jobs.set(job, timer);
    this.#characters += job.operationText.length;
  }

  addFirst(job: PlanJob): void {
    this.add(job);
    this.#first.push(job);
  }

  take(): PlanJob | undefined {
    const job = this.#first.shift() ?? this.#jobs.keys().next().value;
    if (job) this.#remove(job);
    return job;
  }

  #remove(job: PlanJob): boolean {
    clearTimeout(this.#jobs.get(job));
    const at = this.#first.indexOf(job);
    if (at >= 0) this.#first.splice(at, 1);
    if (this.#jobs.delete(job)) this.#characters -= job.operationText.length;
    return true;
  }
}
