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
  readonly #jobs = new Set<PlanJob>();
  /** Jobs that precede all others: they have waited before. */
  #first: PlanJob[] = [];
  readonly #timers = new Map<PlanJob, NodeJS.Timeout>();
  #characters = 0;

  constructor(limits: PlanQueueLimits, onLate: (job: PlanJob) => void) {
    this.#limits = limits;
    this.#onLate = onLate;
  }

  get size(): number {
    return this.#jobs.size + this.#first.length;
  }

  /** Whether a job with this many characters fits in the queue. */
  hasRoomFor(characters: number): boolean {
    return this.size < this.#limits.maxJobs && this.#characters + characters <= this.#limits.maxCharacters;
  }

  add(job: PlanJob): void {
    this.#jobs.add(job);
    this.#wait(job);
  }

  /** Puts jobs that were taken before all others, in their order. A job that had begun waits anew. */
  putBack(jobs: readonly PlanJob[]): void {
    const waiting = jobs.filter(({ isLate }) => !isLate);
    this.#first = [...waiting, ...this.#first];
    for (const job of waiting) this.#wait(job);
  }

  /** The next job, which waits until it begins. */
  take(): PlanJob | undefined {
    const job = this.#first[0] ?? this.#jobs.values().next().value;
    if (job) this.#remove(job);
    return job;
  }

  /** Ends the wait of a job. */
  begin(job: PlanJob): void {
    clearTimeout(this.#timers.get(job));
    this.#timers.delete(job);
  }

  #wait(job: PlanJob): void {
    this.#characters += job.operationText.length;
    if (this.#timers.has(job)) return;
    const onLate = () => {
      this.#timers.delete(job);
      this.#remove(job);
      job.isLate = true;
      this.#onLate(job);
    };
    this.#timers.set(job, setTimeout(onLate, this.#limits.waitMs));
  }

  #remove(job: PlanJob): void {
    const at = this.#first.indexOf(job);
    if (at >= 0) this.#first.splice(at, 1);
    if (at >= 0 || this.#jobs.delete(job)) this.#characters -= job.operationText.length;
  }
}
