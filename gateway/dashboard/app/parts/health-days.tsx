import { Tooltip } from "@mantine/core";
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

/** A bar for each of the last 30 days in UTC: whether requests failed, or there were none. The label says it in words. */
export function HealthDays({ days, of }: { days: readonly Day[]; of: string }) {
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
      <svg
        className="health-days"
        role="img"
        aria-label={label}
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
      >
        {Array.from({ length: DAYS }, (_, n) => {
          const start = today - (DAYS - 1 - n) * DAY_MS;
          const tone = toneOf(byStart.get(start));
          const height = tone === "none" ? 6 : HEIGHT;
          const x = n * (BAR + GAP);
          return (
            <rect key={start} className={tone} x={x} y={HEIGHT - height} width={BAR} height={height} rx={1} />
          );
        })}
      </svg>
    </Tooltip>
  );
}

function toneOf(day: Day | undefined): "none" | "good" | "busy" | "bad" {
  if (!day || day.requestCount === 0) return "none";
  if (day.failedCount === 0) return "good";
  return day.failedCount / day.requestCount < BAD ? "busy" : "bad";
}
