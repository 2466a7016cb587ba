/** A phase of a request: from `startMs` to `endMs` after it arrived. */
export type Phase = {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly tone: "good" | "bad" | "busy" | "calm";
  /** The provider that was tried. */
  readonly provider?: string;
  /** What happened, in a few words. */
  readonly detail?: string;
};

type Timed = {
  readonly timing: {
    readonly receivedMs: number | null;
    readonly admittedMs: number | null;
    readonly firstByteMs: number | null;
    readonly durationMs: number | null;
  };
  readonly routing: {
    readonly attempts: readonly {
      readonly providerAddress: string;
      readonly outcome: string;
      readonly reason: string | null;
      readonly status: number | null;
      readonly startMs: number | null;
      readonly durationMs: number;
    }[];
  } | null;
};

type Attempt = NonNullable<Timed["routing"]>["attempts"][number];
type Span = { readonly startMs: number; readonly endMs: number };

/**
 * The phases of a request that has ended: authentication, admission, and its attempts, of which the one that answered is
 * divided by the provider's first byte. Stored times start with the admission. Of requests of earlier versions the
 * attempts' durations alone are stored: they follow each other, and the last one ends with the request.
 */
export function phasesOf({ timing, routing }: Timed): readonly Phase[] {
  const { receivedMs, admittedMs, firstByteMs, durationMs } = timing;
  const attempts = routing?.attempts ?? [];
  const spans = spansOf(attempts, durationMs ?? 0);
  const tried = attempts.flatMap((attempt, n) =>
    attemptPhases(attempt, n, spans[n] ?? NOTHING, n === attempts.length - 1 ? firstByteMs : null),
  );
  const offsetMs = receivedMs ?? 0;
  return [
    ...(receivedMs === null ? [] : [RECEIVED(receivedMs)]),
    ...(admittedMs === null ? preparation(spans) : [ADMITTED(admittedMs)]).map(later(offsetMs)),
    ...tried.map(later(offsetMs)),
  ];
}

/** The time from the request's arrival to its last byte. */
export function totalMsOf({ timing: { receivedMs, durationMs } }: Pick<Timed, "timing">): number {
  return (receivedMs ?? 0) + (durationMs ?? 0);
}

const NOTHING: Span = { startMs: 0, endMs: 0 };
const RECEIVED = (endMs: number): Phase => ({
  ...{ name: "Authentication", startMs: 0, endMs, tone: "calm" },
  detail: "and reading the body",
});
const ADMITTED = (endMs: number): Phase => ({
  ...{ name: "Admission", startMs: 0, endMs, tone: "calm" },
  detail: "choosing providers, and holding the cost",
});

function preparation([first = NOTHING]: readonly Span[]): readonly Phase[] {
  if (first.startMs === 0) return [];
  const detail = "before the first attempt, and between attempts";
  return [{ name: "Preparation", startMs: 0, endMs: first.startMs, tone: "calm", detail }];
}

function later(byMs: number): (phase: Phase) => Phase {
  return (phase) => ({ ...phase, startMs: phase.startMs + byMs, endMs: phase.endMs + byMs });
}

function spansOf(attempts: readonly Attempt[], totalMs: number): readonly Span[] {
  let endMs = totalMs;
  return attempts
    .toReversed()
    .map(({ startMs: stored, durationMs }) => {
      const startMs = stored ?? Math.max(0, endMs - durationMs);
      const span = { startMs, endMs: stored === null ? endMs : startMs + durationMs };
      endMs = startMs;
      return span;
    })
    .toReversed();
}

function attemptPhases(
  { providerAddress: provider, outcome, reason, status }: Attempt,
  n: number,
  { startMs, endMs }: Span,
  firstByteMs: number | null,
): readonly Phase[] {
  const name = `Attempt ${n + 1}`;
  const why = [reason ?? outcome.toLowerCase(), ...(status === null ? [] : [`status ${status}`])].join(", ");
  const tone = outcome === "ANSWERED" ? "good" : "bad";
  if (firstByteMs === null || firstByteMs < startMs || firstByteMs > endMs)
    return [{ name, provider, startMs, endMs, tone, detail: outcome === "ANSWERED" ? "answered" : why }];
  return [
    { name, provider, startMs, endMs: firstByteMs, tone: "busy", detail: "until the first byte" },
    {
      name: "Answer",
      provider,
      startMs: firstByteMs,
      endMs,
      tone,
      detail: outcome === "ANSWERED" ? "from the first byte to the last" : why,
    },
  ];
}

/** A duration in words. */
export function inTime(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms).toLocaleString("en")} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
