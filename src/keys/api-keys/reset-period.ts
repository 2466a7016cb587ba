/** When a key's spending is reset: at midnight, on Monday, or on the first of the month, UTC. */
export const RESET_PERIODS = ["never", "daily", "weekly", "monthly"] as const;
export type ResetPeriod = (typeof RESET_PERIODS)[number];

/** The start of the period that contains `at`; null for `never`. The same as `PERIOD_START` in SQL. */
export function periodStart(period: ResetPeriod, at: Date): Date | null {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (period) {
    case "never":
      return null;
    case "daily":
      return new Date(Date.UTC(year, month, day));
    case "weekly":
      return new Date(Date.UTC(year, month, day - ((at.getUTCDay() + 6) % 7)));
    case "monthly":
      return new Date(Date.UTC(year, month, 1));
  }
}
