const FIRST_MS = 5_000;
const LAST_MS = 900_000;
/** So that webhooks that failed together do not retry together. */
const JITTER = 0.2;

/** How long a webhook may fail before it is disabled. */
export const MAX_FAILING_MS = 24 * 3_600_000;

/**
 * How long to wait after the `failures`th failure in a row: 5 s, doubled with each up to 15 minutes, plus up to a fifth
 * by chance, and not less than the receiver's `Retry-After`. `random` is from 0 to 1.
 */
export function retryDelayMs(failures: number, retryAfterMs: number | undefined, random: number): number {
  const backoff = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 30), LAST_MS);
  return Math.max(backoff * (1 + JITTER * random), retryAfterMs ?? 0);
}
