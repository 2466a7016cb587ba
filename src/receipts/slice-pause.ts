/** The share of the event loop's time from which on the process counts as busy with requests. */
const BUSY = 0.5;
/** While the process is busy, one twentieth of its time is used: that many times a slice is then left to requests. */
const BUSY_PAUSE = 19;
const MAX_PAUSE_MS = 2_000;
/** Receipts that are later than this are written in half of the time, busy or not, so that drafts do not pile up. */
const MAX_LAG_MS = 120_000;

/** The least time to leave to requests after a slice that took `sliceMs`. */
export function shortPauseMs(sliceMs: number): number {
  return Math.min(sliceMs, MAX_PAUSE_MS);
}

/**
 * The time to leave to requests after the short pause, in which the event loop was busy for the share `utilization`.
 * `lagMs` is how long ago the oldest request of the slice had ended: under load, receipts wait until there is time, but
 * not for longer than two minutes.
 */
export function longPauseMs(
  sliceMs: number,
  { utilization, lagMs }: { readonly utilization: number; readonly lagMs: number },
): number {
  if (utilization < BUSY || lagMs > MAX_LAG_MS) return 0;
  return Math.min((BUSY_PAUSE - 1) * sliceMs, MAX_PAUSE_MS);
}
