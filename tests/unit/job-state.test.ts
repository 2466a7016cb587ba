import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isFinal,
  JOB_STATES,
  JOB_TRANSITIONS,
  type JobState,
  type JobTransition,
  statesBefore,
  transitionJob,
} from "../../src/jobs/job.state.ts";

const RANK: Record<JobState, number> = { pending: 0, processing: 1, completed: 2, failed: 2, cancelled: 2 };

const moves = fc.array(fc.constantFrom<JobTransition>(...JOB_TRANSITIONS), { maxLength: 30 });

/** Every state that a job passes through; impossible transitions leave it unchanged. */
function walk(sequence: readonly JobTransition[]): JobState[] {
  const states: JobState[] = ["pending"];
  for (const move of sequence) {
    const state = states.at(-1) as JobState;
    states.push(transitionJob(state, move) ?? state);
  }
  return states;
}

test("for any sequence of transitions, a job never goes back and nothing follows its end", () => {
  fc.assert(
    fc.property(moves, (sequence) => {
      const states = walk(sequence);
      for (const [n, state] of states.entries()) {
        const next = states[n + 1] ?? state;
        expect(RANK[next]).toBeGreaterThanOrEqual(RANK[state]);
        if (isFinal(state)) expect(next).toBe(state);
      }
    }),
  );
});

test("only a job that no worker claimed can be cancelled, and only a claimed one can be stopped or end otherwise", () => {
  fc.assert(
    fc.property(moves, (sequence) => {
      const states = walk(sequence);
      const end = states.at(-1);
      const last = sequence[states.indexOf(end ?? "pending") - 1];
      if (end === "cancelled") expect(last).toBe(states.includes("processing") ? "stop" : "cancel");
      if (end === "completed" || end === "failed") expect(states).toContain("processing");
    }),
  );
});

test("a state is final if and only if no transition leaves it, and every transition starts from some state", () => {
  for (const state of JOB_STATES)
    expect(isFinal(state)).toBe(JOB_TRANSITIONS.every((move) => transitionJob(state, move) === undefined));
  expect(JOB_TRANSITIONS.map(statesBefore)).toEqual([
    "('pending', 'processing')",
    "('processing')",
    "('processing')",
    "('processing')",
    "('processing')",
    "('pending')",
  ]);
});
