/**
 * A histogram of durations: bin 0 is for at most 1 ms, bin n for more than 2^((n-1)/4) and at most 2^(n/4) ms. A bound
 * is 19 % above the one before it, so that the middle of a bin is within 10 % of every duration in it.
 */
const BINS_PER_OCTAVE = 4;
/** The last bin also has everything above 17 minutes. */
export const MAX_LATENCY_BIN = 80;
/** Rounding must not move a duration that is exactly a bound. */
const TOLERANCE = 1e-9;

/** The bin of a duration in milliseconds. */
export function latencyBinOf(ms: number): number {
  const bin = Math.ceil(Math.log2(Math.max(ms, 1)) * BINS_PER_OCTAVE - TOLERANCE);
  return Math.max(0, Math.min(bin, MAX_LATENCY_BIN));
}

/** SQL: the bin of a duration, an expression in milliseconds that is not null. */
export function latencyBinSql(ms: string): string {
  return `least(${MAX_LATENCY_BIN}, ceil(ln(greatest(${ms}, 1)::float8) / ln(2::float8) * ${BINS_PER_OCTAVE} - ${TOLERANCE}))::integer`;
}

/**
 * The duration in milliseconds that a fraction of a histogram's entries does not exceed, from 0 to 1: the middle of its
 * bin, which is within 10 % of the exact one. Each bin is given once. Undefined for an empty histogram.
 */
export function percentileMs(
  bins: readonly { readonly bin: number; readonly count: number }[],
  fraction: number,
): number | undefined {
  const sorted = bins.filter(({ count }) => count > 0).toSorted((one, other) => one.bin - other.bin);
  const total = sorted.reduce((sum, { count }) => sum + count, 0);
  let before = 0;
  for (const { bin, count } of sorted) {
    before += count;
    if (before >= total * fraction) return bin === 0 ? 1 : Math.round(2 ** ((bin - 0.5) / BINS_PER_OCTAVE));
  }
  return undefined;
}
