import { Tooltip } from "@mantine/core";
import { useSyncExternalStore } from "react";

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
/** All times are brought up to date together, and no more often than their words change. */
const EVERY_MS = 15_000;
const readers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let tick = 0;

function onTick(reader: () => void): () => void {
  readers.add(reader);
  timer ??= setInterval(() => {
    tick++;
    for (const read of readers) read();
  }, EVERY_MS);
  return () => {
    readers.delete(reader);
    if (readers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** A time as people say it, such as `2min ago` or `in 3 days`. */
function relativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000);
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return WORDS.format(Math.trunc(seconds / length), unit);
  return Math.abs(seconds) < 10 ? "just now" : WORDS.format(seconds, "second");
}

/** A time relative to now; on hover, exactly and with its zone. `none` stands for no time. */
export function Time({ at, none = "never" }: { at: string | null | undefined; none?: string }) {
  useSyncExternalStore(onTick, () => tick);
  if (!at) return <span className="quiet">{none}</span>;
  const date = new Date(at);
  return (
    <Tooltip label={EXACT.format(date)}>
      <time dateTime={at} className="time">
        {relativeTime(date.getTime(), Date.now())}
      </time>
    </Tooltip>
  );
}
