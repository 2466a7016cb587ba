import { Tooltip } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { onTick, readTick } from "../../data/tick.ts";
import { relativeTime } from "./relative-time.ts";

const EXACT = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium",
  timeStyle: "long",
});

/** A time relative to now; on hover, exactly and with its zone. `none` stands for no time. */
export function Time({ at, none = "never" }: { at: string | null | undefined; none?: string }) {
  useSyncExternalStore(onTick, readTick);
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
