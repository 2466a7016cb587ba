import { Tooltip } from "@mantine/core";
import { useId } from "react";
import { Hatch } from "./hatch.tsx";
import "./health-days.css";

const DAYS = 30;
const DAY_MS = 86_400_000;
const BAR = 4;
const GAP = 1;
const HEIGHT = 22;
/** From this share of failed requests on, a day was bad. */
const BAD = 0.05;

type Day = { readonly startsAt: string; readonly requestCount: number; readonly failedCount: number };

/** A percentage with as many decimals as distinguish it from 100 %, rounded down. */
export function percentText(share: number): string {
  if (share === 1) return "100%";
  return `${(Math.floor(share * 10_000) / 100).toFixed(share > 0.99 ? 2 : 1)}%`;
}

/**
 * A cell for each of the last 30 days in UTC: grey without requests, and hatched on top of its colour when some failed. The
 * label says it in words.
 */
export function HealthDays({
  days,
  of,
  recent,
}: {
  days: readonly Day[];
  of: string;
  /** The share of the latest requests that were answered: what is known before a day is stored. */
  recent?: number | undefined;
}) {
  const hatch = useId();
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const byStart = new Map(days.map((day) => [Date.parse(day.startsAt), day]));
  const requests = days.reduce((sum, { requestCount }) => sum + requestCount, 0);
  const failed = days.reduce((sum, { failedCount }) => sum + failedCount, 0);
  const badDays = days.filter((day) => toneOf(day) === "bad").length;
  const label =
    requests === 0
      ? `${of}: no requests in 30 days`
      : `${of}: ${percentText((requests - failed) / requests)} of ${requests.toLocaleString("en")} requests answered in 30 days, ${badDays} bad ${badDays === 1 ? "day" : "days"}`;
  const width = DAYS * (BAR + GAP) - GAP;
  return (
    <Tooltip label={label}>
      <span className="health-days">
        <svg role="img" aria-label={label} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`}>
          <Hatch id={hatch} />
          {Array.from({ length: DAYS }, (_, n) => {
            const start = today - (DAYS - 1 - n) * DAY_MS;
            const tone = toneOf(byStart.get(start));
            const cell = { x: n * (BAR + GAP), width: BAR, height: HEIGHT, rx: 1 };
            return (
              <g key={start}>
                <rect className={tone} {...cell} />
                {(tone === "busy" || tone === "bad") && <rect {...cell} fill={`url(#${hatch})`} />}
              </g>
            );
          })}
        </svg>
        <small className="quiet figure">
          {requests === 0
            ? recent === undefined
              ? "no requests"
              : `${percentText(recent)} recently`
            : `${percentText((requests - failed) / requests)} · ${requests.toLocaleString("en")} ${requests === 1 ? "request" : "requests"}`}
        </small>
      </span>
    </Tooltip>
  );
}

function toneOf(day: Day | undefined): "none" | "good" | "busy" | "bad" {
  if (!day || day.requestCount === 0) return "none";
  if (day.failedCount === 0) return "good";
  return day.failedCount / day.requestCount < BAD ? "busy" : "bad";
}
