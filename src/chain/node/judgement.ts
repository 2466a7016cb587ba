/** `unknown`: not configured, or not detectable from here; `next` describes how to find out. */
export type Verdict = "pass" | "fail" | "unknown";

/** The verdict on a rule, and why. */
export type Judgement = {
  readonly verdict: Verdict;
  /** The finding, in a sentence. */
  readonly detail: string;
  /** What to do next; undefined if nothing. */
  readonly next: string | undefined;
};

/** The rule is met. */
export function pass(detail: string): Judgement {
  return { verdict: "pass", detail, next: undefined };
}

/** The rule is violated; `next` is the remedy. */
export function fail(detail: string, next: string): Judgement {
  return { verdict: "fail", detail, next };
}

/** The rule could not be checked; `next` is how to find out. */
export function unknown(detail: string, next: string): Judgement {
  return { verdict: "unknown", detail, next };
}
