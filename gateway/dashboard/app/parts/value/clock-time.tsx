import { Tooltip } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { onTick } from "../../data/tick.ts";
import { Time } from "./time.tsx";

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const YEAR = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** A time of today as `07:28:41`, of this year as `26 Nov, 07:28:41`, and of others with the year; local. */
function clockText(date: Date, now: Date): string {
  const clock = CLOCK.format(date);
  if (date.toDateString() === now.toDateString()) return clock;
  return `${(date.getFullYear() === now.getFullYear() ? DAY : YEAR).format(date)}, ${clock}`;
}

/** The day of this computer's time zone. */
const today = () => new Date().toDateString();

/** A time by the clock, for lists; on hover with its date and its zone. `none` stands for no time. */
export function ClockTime({ at, none = "never" }: { at: string | null | undefined; none?: string }) {
  // A list that is left open over midnight: a time without its date would be taken for one of the new day.
  useSyncExternalStore(onTick, today);
  if (!at) return <span className="quiet">{none}</span>;
  const date = new Date(at);
  return (
    <Tooltip label={EXACT.format(date)}>
      <time dateTime={at} className="time">
        {clockText(date, new Date())}
      </time>
    </Tooltip>
  );
}

/** A time with its date and its zone, and relative to now, for pages of one thing. */
export function FullTime({ at, none = "never" }: { at: string | null | undefined; none?: string }) {
  if (!at) return <span className="quiet">{none}</span>;
  return (
    <>
      {EXACT.format(new Date(at))}{" "}
      <span className="quiet">
        (<Time at={at} />)
      </span>
    </>
  );
}
