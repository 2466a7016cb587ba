/** How a job stands. It goes from left to right and never back; the last three are final. */
export const JOB_STATES = ["pending", "processing", "completed", "failed", "cancelled"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** What may befall a job: a worker takes it, tells of a step, brings it to an end; its owner takes it back. */
export const JOB_TRANSITIONS = ["claim", "advance", "complete", "fail", "cancel"] as const;
export type JobTransition = (typeof JOB_TRANSITIONS)[number];

/** A claim of a job under way is another worker's, after the lease of the one before ran out. */
const MOVES: Readonly<Record<JobState, Readonly<Partial<Record<JobTransition, JobState>>>>> = {
  pending: { claim: "processing", cancel: "cancelled" },
  processing: { claim: "processing", advance: "processing", complete: "completed", fail: "failed" },
  completed: {},
  failed: {},
  cancelled: {},
};

/** Where a job in `state` comes to by `move`; undefined where that is not possible. */
export function transitionJob(state: JobState, move: JobTransition): JobState | undefined {
  return MOVES[state][move];
}

/** Whether nothing can befall a job any more. */
export function isFinal(state: JobState): boolean {
  return Object.keys(MOVES[state]).length === 0;
}

/** From which states `move` is possible, as an SQL list of literals. */
export function statesBefore(move: JobTransition): string {
  const states = JOB_STATES.filter((state) => transitionJob(state, move) !== undefined);
  return `(${states.map((state) => `'${state}'`).join(", ")})`;
}
