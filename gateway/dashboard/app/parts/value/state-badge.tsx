import type { LucideIcon } from "lucide-react";
import Check from "lucide-react/icons/check";
import Clock from "lucide-react/icons/clock";
import LoaderCircle from "lucide-react/icons/loader-circle";
import Minus from "lucide-react/icons/minus";
import TriangleAlert from "lucide-react/icons/triangle-alert";
import X from "lucide-react/icons/x";
import type { ReactNode } from "react";
import type { Live as Followed } from "../../../../../packages/client/src/react.ts";

/** What a badge means, which is its colour and its icon; `plain` is neither good nor bad, and has a dot. */
type Tone = "good" | "bad" | "busy" | "running" | "queued" | "calm" | "plain";

const ICONS: Readonly<Record<Tone, LucideIcon | undefined>> = {
  good: Check,
  bad: X,
  busy: TriangleAlert,
  running: LoaderCircle,
  queued: Clock,
  calm: Minus,
  plain: undefined,
};

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
  UNREACHABLE: "bad",
  WRONG_CHAIN: "bad",
  RPC_WRONG_CHAIN: "bad",
  READY: "good",
  RUNNING: "running",
  PROCESSING: "running",
  IN_PROGRESS: "running",
  VALIDATING: "running",
  FINALIZING: "running",
  CANCELLING: "running",
  UPLOADING: "running",
  BACKFILLING: "running",
  SYNCING: "running",
  PENDING: "queued",
  SUBMITTED: "queued",
  SEEN: "queued",
  NOT_CHECKED: "calm",
  NOT_ASKED: "calm",
  CANCELLED: "calm",
  DISABLED: "calm",
  UNCHECKED: "calm",
  UNSET: "calm",
  UNKNOWN: "calm",
  PRUNED: "calm",
  REMOVED: "calm",
};

/** A few words on a coloured ground, after an icon. They begin with a capital, whatever is passed. */
export function Pill({ tone, children }: { tone: Tone; children: ReactNode }) {
  const Icon = ICONS[tone];
  return (
    <span className={`pill ${tone}`}>
      {Icon ? <Icon size={12} strokeWidth={2.5} aria-hidden="true" /> : <i className="pill-dot" />}
      <span className="pill-text">{children}</span>
    </span>
  );
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
      <Pill tone={isLive ? "plain" : "running"}>{isLive ? "live" : "connecting…"}</Pill>
    </span>
  );
}

/** A value of an enum of the graph, in words: `HALF_OPEN` is `half open`. */
export function inWords(value: string): string {
  return value.toLowerCase().replaceAll("_", " ");
}
