import { Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;
const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const EXACT = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium",
  timeStyle: "long",
});
/** Times are brought up to date together, and only as exactly as they are shown. */
const EVERY_MS = 15_000;

/** A time as people say it, such as `2min ago` or `in 3 days`. */
function relativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000);
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return WORDS.format(Math.trunc(seconds / length), unit);
  return Math.abs(seconds) < 10 ? "just now" : WORDS.format(seconds, "second");
}

/** A time relative to now; on hover, exactly and with its zone. `none` stands for no time. */
export function Time({ at, none = "never" }: { at: string | null | undefined; none?: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span className="quiet">{none}</span>;
  const date = new Date(at);
  return (
    <Tooltip label={EXACT.format(date)}>
      <time dateTime={at} className="time">
        {relativeTime(date.getTime(), Math.max(now, Date.now()))}
      </time>
    </Tooltip>
  );
}
