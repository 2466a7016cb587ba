import { useId } from "react";
import { secondsText } from "../../data/durations.ts";
import { Hatch } from "../../parts/chart/hatch.tsx";
import "../../parts/chart/health-days.css";

/** The state of a provider at one moment. */
export type Sample = { readonly at: number; readonly latencyMs: number | null; readonly state: string };

export const MAX_SAMPLES = 30;
const CELL = 3;
const GAP = 1;
const HEIGHT = 18;

/**
 * A cell per sample of a provider: grey where there is none yet, and hatched where its circuit was open. The share of
 * samples with it available is beside it, and the label says the same in words for screen readers.
 */
export function Health({ samples }: { samples: readonly Sample[] }) {
  const hatch = useId();
  const most = Math.max(0, ...samples.map(({ latencyMs }) => latencyMs ?? 0));
  const unavailable = samples.filter(({ state }) => state === "OPEN").length;
  // Samples are further apart where the page was hidden or left.
  const since = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  const width = MAX_SAMPLES * (CELL + GAP) - GAP;
  const from = MAX_SAMPLES - samples.length;
  return (
    <span className="health">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`In the last ${secondsText(since / 1_000)} it was unavailable in ${unavailable} of ${samples.length} samples; its slowest first byte took ${most} ms.`}
      >
        <Hatch id={hatch} />
        {Array.from({ length: MAX_SAMPLES }, (_, n) => {
          const sample = samples[n - from];
          const cell = { x: n * (CELL + GAP), width: CELL, height: HEIGHT, rx: 1 };
          return (
            <g key={sample?.at ?? `none-${n}`}>
              <rect className={sample?.state ?? "none"} {...cell} />
              {sample?.state === "OPEN" && <rect {...cell} fill={`url(#${hatch})`} />}
            </g>
          );
        })}
      </svg>
      {samples.length > 0 && (
        <small className="quiet">
          {Math.floor(((samples.length - unavailable) / samples.length) * 100)}% available
        </small>
      )}
    </span>
  );
}
