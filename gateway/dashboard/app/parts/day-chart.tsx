import { useMantineColorScheme, VisuallyHidden } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

const HEIGHT_PX = 200;

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
  // The colours are read when the chart is drawn.
  const { colorScheme } = useMantineColorScheme();
  const holder = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another colour scheme draws it again.
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const ink = style.getPropertyValue("--mantine-color-dimmed").trim();
    const accent = style.getPropertyValue("--z-accent").trim();
    const line = style.getPropertyValue("--z-line").trim();
    const font = `12px ${style.fontFamily}`;
    const axis = { stroke: ink, font, ticks: { show: false }, grid: { show: false } };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { y: false },
        scales: {
          // Half a day more at both ends, so that no bar is clipped.
          x: { range: (_, min, max) => [min - 43_200, max + 43_200] },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
        },
        axes: [axis, { ...axis, size: 64, grid: { stroke: line, width: 1 } }],
        series: [
          {},
          {
            label,
            width: 0,
            fill: accent,
            points: { show: false },
            ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.6, 28], radius: 0.25 }) }),
          },
        ],
      },
      [days.map(({ date }) => Date.parse(date) / 1_000), days.map(({ value }) => value)],
      element,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [label, days, colorScheme]);
  return (
    <figure className="chart">
      <div ref={holder} aria-hidden="true" />
      <VisuallyHidden component="div">
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
      </VisuallyHidden>
    </figure>
  );
}
