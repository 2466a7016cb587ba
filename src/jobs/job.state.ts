/** The states of a job. It moves from left to right and never back; the last three are final. */
export const JOB_STATES = ["pending", "processing", "completed", "failed", "cancelled"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** The transitions of a job: a worker claims, advances and ends it, or stops for its owner, who cancels a pending one. */
export const JOB_TRANSITIONS = ["claim", "advance", "complete", "fail", "stop", "cancel"] as const;
export type JobTransition = (typeof JOB_TRANSITIONS)[number];

/** A `processing` job is claimed by another worker when the lease of the previous one has expired. */
const NEXT_STATES: Readonly<Record<JobState, Readonly<Partial<Record<JobTransition, JobState>>>>> = {
  pending: { claim: "processing", cancel: "cancelled" },
  processing: {
    claim: "processing",
    advance: "processing",
    complete: "completed",
    fail: "failed",
    stop: "cancelled",
  },
  completed: {},
  failed: {},
  cancelled: {},
};

/** The state after `transition`; undefined when a job in `state` does not allow it. */
export function transitionJob(state: JobState, transition: JobTransition): JobState | undefined {
  return NEXT_STATES[state][transition];
}

/** Whether the state is final: no transition leaves it. */
export function isFinal(state: JobState): boolean {
  return Object.keys(NEXT_STATES[state]).length === 0;
}

/** The states that allow `transition`, as an SQL list of literals. */
export function statesBefore(transition: JobTransition): string {
  const states = JOB_STATES.filter((state) => transitionJob(state, transition) !== undefined);
  return `(${states.map((state) => `'${state}'`).join(", ")})`;
}
