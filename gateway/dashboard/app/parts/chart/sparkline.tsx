import { Tooltip } from "@mantine/core";

const WIDTH = 120;
const HEIGHT = 28;
const GAP = 1;

/** A value of a day; `text` is what is said of it on hover. */
export type SparkDay = { readonly date: string; readonly value: number };

/**
 * Daily values as small bars, for a row of a table; `limit` is a line at the most that a day may have. Screen readers
 * get the label, which sums it up. `most` is the highest value for people, beside the bars.
 */
export function Sparkline({
  days,
  label,
  limit,
  most: mostText,
}: {
  days: readonly SparkDay[];
  label: string;
  limit?: number | undefined;
  most?: string | undefined;
}) {
  const most = Math.max(limit ?? 0, ...days.map(({ value }) => value));
  const width = WIDTH / Math.max(1, days.length);
  const heightOf = (value: number) => (most > 0 ? (value / most) * (HEIGHT - 2) : 0);
  return (
    <Tooltip label={label}>
      <span className="sparkline">
        <svg role="img" aria-label={label} width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
          <line className="base" x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
          {days.map(({ date, value }, n) => (
            <rect
              key={date}
              x={n * width}
              // A day that spent anything is seen.
              y={HEIGHT - Math.max(heightOf(value), value > 0 ? 2 : 0)}
              width={width - GAP}
              height={Math.max(heightOf(value), value > 0 ? 2 : 0)}
            />
          ))}
          {limit !== undefined && limit > 0 && (
            <line
              className="limit"
              x1="0"
              x2={WIDTH}
              y1={HEIGHT - heightOf(limit)}
              y2={HEIGHT - heightOf(limit)}
            />
          )}
        </svg>
        {mostText !== undefined && <small className="quiet figure">max {mostText}</small>}
      </span>
    </Tooltip>
  );
}
