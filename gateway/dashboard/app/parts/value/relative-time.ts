const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;
/** In numbers: `tomorrow` and `next month` name a day and a month of the calendar, which a length of time does not. */
const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });

/** A time as people say it, such as `2min ago` or `in 3d`. Both are milliseconds. */
export function relativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000);
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return WORDS.format(Math.trunc(seconds / length), unit);
  return Math.abs(seconds) < 10 ? "just now" : WORDS.format(seconds, "second");
}
