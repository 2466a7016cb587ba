import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** Daily values as bars, with a table of the figures for screen readers. */
export function DayChart({
  label,
  unit,
  days,
}: {
  label: string;
  unit: string;
  days: readonly { readonly date: string; readonly value: number }[];
}) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const ink = style.getPropertyValue("--quiet").trim();
    const accent = style.getPropertyValue("--accent").trim();
    const axis = { stroke: ink, grid: { stroke: style.getPropertyValue("--line").trim(), width: 1 } };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 180,
        legend: { show: false },
        cursor: { y: false },
        scales: {
          // Half a day more at both ends, so that no bar is clipped.
          x: { range: (_, min, max) => [min - 43_200, max + 43_200] },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
        },
        axes: [axis, { ...axis, size: 70 }],
        series: [
          {},
          {
            label,
            stroke: accent,
            fill: accent,
            points: { show: false },
            ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 40] }) }),
          },
        ],
      },
      [days.map(({ date }) => Date.parse(date) / 1_000), days.map(({ value }) => value)],
      element,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 180 }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [label, days]);
  return (
    <figure className="chart">
      <div ref={holder} aria-hidden="true" />
      <div className="unseen">
        <table>
          <caption>
            {label}, {unit}
          </caption>
          <tbody>
            {days.map(({ date, value }) => (
              <tr key={date}>
                <th scope="row">{date}</th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
