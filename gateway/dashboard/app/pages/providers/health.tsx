/** The state of a provider at one moment. */
export type Sample = { readonly at: number; readonly latencyMs: number | null; readonly state: string };

export const MAX_SAMPLES = 30;
const BAR = 2;
const HEIGHT = 24;
const LEAST = 3;

/**
 * A bar per sample of a provider: its height is the time to the first byte, red while its circuit was open. The
 * label says the same in words for screen readers.
 */
export function Health({ samples, everyMs }: { samples: readonly Sample[]; everyMs: number }) {
  const most = Math.max(1, ...samples.map(({ latencyMs }) => latencyMs ?? 0));
  const unavailable = samples.filter(({ state }) => state === "OPEN").length;
  const seconds = Math.round((samples.length * everyMs) / 1_000);
  return (
    <svg
      className="health"
      viewBox={`0 0 ${MAX_SAMPLES * (BAR + 1)} ${HEIGHT}`}
      width={MAX_SAMPLES * (BAR + 1)}
      height={HEIGHT}
      role="img"
      aria-label={`In the last ${seconds} s it was unavailable in ${unavailable} of ${samples.length} samples; its slowest first byte took ${most} ms.`}
    >
      {samples.map(({ at, latencyMs, state }, n) => {
        const height = LEAST + ((latencyMs ?? 0) / most) * (HEIGHT - LEAST);
        const x = (MAX_SAMPLES - samples.length + n) * (BAR + 1);
        return (
          <rect key={at} className={state} x={x} y={HEIGHT - height} width={BAR} height={height} rx={1} />
        );
      })}
    </svg>
  );
}
