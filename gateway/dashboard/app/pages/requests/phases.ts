/** A phase of a request: from `startMs` to `endMs` after it was accepted. */
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
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly timing: { readonly firstByteMs: number | null; readonly durationMs: number | null };
  readonly routing: {
    readonly attempts: readonly {
      readonly providerAddress: string;
      readonly outcome: string;
      readonly reason: string | null;
      readonly status: number | null;
      readonly durationMs: number;
    }[];
  } | null;
};

/**
 * The phases of a request that has ended, as far as they are stored. Attempts are made one after the other, and the
 * last one ends with the request, so their starts follow from their durations. An attempt that answered is divided by
 * the provider's first byte. What is not stored is not among them: authentication and admission.
 */
export function phasesOf({ timing, routing }: Timed): readonly Phase[] {
  const attempts = routing?.attempts ?? [];
  const total = timing.durationMs ?? 0;
  const phases: Phase[] = [];
  let endMs = total;
  for (const [n, attempt] of [...attempts.entries()].toReversed()) {
    const startMs = Math.max(0, endMs - attempt.durationMs);
    const isLast = n === attempts.length - 1;
    phases.unshift(...attemptPhases(attempt, { n, startMs, endMs }, isLast ? timing.firstByteMs : null));
    endMs = startMs;
  }
  if (attempts.length > 0 && endMs > 0)
    phases.unshift({
      name: "Preparation",
      startMs: 0,
      endMs,
      tone: "calm",
      detail: "before the first attempt, and between attempts",
    });
  return phases;
}

type Attempt = NonNullable<Timed["routing"]>["attempts"][number];

function attemptPhases(
  { providerAddress: provider, outcome, reason, status }: Attempt,
  { n, startMs, endMs }: { readonly n: number; readonly startMs: number; readonly endMs: number },
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
