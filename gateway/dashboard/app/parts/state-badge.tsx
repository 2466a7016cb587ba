import type { ReactNode } from "react";
import type { Live as Followed } from "../../../../packages/client/src/react.ts";

type Tone = "good" | "bad" | "busy" | "calm";

/** Labels for states whose own word would mislead: a closed circuit lets requests through. */
const WORDS: Readonly<Record<string, string>> = {
  CLOSED: "healthy",
  HALF_OPEN: "recovering",
  OPEN: "unavailable",
};

const TONES: Readonly<Record<string, Tone>> = {
  ACTIVE: "good",
  COMPLETED: "good",
  CONFIRMED: "good",
  VERIFIED: "good",
  CLOSED: "good",
  FOLLOWING: "good",
  FINALIZED: "good",
  PASS: "good",
  PASSED: "good",
  ANSWERED: "good",
  DELIVERED: "good",
  REVOKED: "bad",
  EXPIRED: "bad",
  FAILED: "bad",
  ABORTED: "bad",
  REVERTED: "bad",
  OPEN: "bad",
  FAIL: "bad",
  HALTED_DEEP_REORG: "bad",
  RPC_UNAVAILABLE: "bad",
  PAUSED: "calm",
  NOT_CHECKED: "calm",
  NOT_ASKED: "calm",
  CANCELLED: "calm",
  DISABLED: "calm",
};

/** A few words on a coloured ground, with a dot in front. */
export function Pill({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`pill ${tone}`}>{children}</span>;
}

/** A state of the graph in words, with a colour. */
export function StateBadge({ state }: { state: string }) {
  return <Pill tone={TONES[state] ?? "busy"}>{WORDS[state] ?? inWords(state)}</Pill>;
}

/** Whether the data shown is live. */
export function Live({
  liveness: { state, error },
}: {
  liveness: Pick<Followed<unknown>, "state" | "error">;
}) {
  if (error) return <Pill tone="bad">not live: {error.message}</Pill>;
  const isLive = state === "live" || state === "replaying";
  return (
    <span role="status" className="live">
      <Pill tone={isLive ? "good" : "busy"}>{isLive ? "live" : "connecting…"}</Pill>
    </span>
  );
}

/** A value of an enum of the graph, in words: `HALF_OPEN` is `half open`. */
export function inWords(value: string): string {
  return value.toLowerCase().replaceAll("_", " ");
}
