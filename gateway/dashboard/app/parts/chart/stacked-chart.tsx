import { useMantineColorScheme, VisuallyHidden } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import type { Series } from "./series.ts";
import { ticksOf } from "./ticks.ts";
import "uplot/dist/uPlot.min.css";
import "./stacked-chart.css";

const HEIGHT_PX = 240;
type Props = {
  readonly label: string;
  readonly unit: string;
  /** The starts of the periods, in milliseconds, in UTC. */
  readonly starts: readonly number[];
  /** The name of a period, such as `24 Nov`. */
  nameOf(start: number): string;
  /** At most `MAX_SERIES`, the first one at the bottom. */
  readonly series: readonly Series[];
  /** All of them together. */
  readonly total: Pick<Series, "text" | "texts">;
};

/**
 * Values by periods as stacked bars, with a legend that has the sums, or the values of the period under the pointer, and
 * a table of the figures for screen readers.
 */
export function StackedChart({ label, unit, starts, nameOf, series, total }: Props) {
  // The colours are read when the chart is drawn.
  const { colorScheme } = useMantineColorScheme();
  const holder = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number>();
  const data = useMemo(() => stack(starts, series), [starts, series]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another colour scheme draws it again.
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const plot = new uPlot(
      optionsOf(element, {
        starts,
        count: series.length,
        most: Math.max(0, ...(data[1] ?? []).map((value) => value ?? 0)),
        nameOf,
        setPointed,
      }),
      data,
      element,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
      setPointed(undefined);
    };
  }, [data, colorScheme, nameOf]);
  const start = pointed === undefined ? undefined : starts[pointed];
  return (
    <figure className="chart">
      <p className="chart-unit quiet" aria-hidden="true">
        {unit}
      </p>
      <div ref={holder} className="chart-plot" aria-hidden="true" />
      <div className="legend" aria-hidden="true">
        <span className="legend-entry legend-total">
          <span className="legend-name">{start === undefined ? "Total" : nameOf(start)}</span>
          <span className="figure">{pointed === undefined ? total.text : total.texts[pointed]}</span>
        </span>
        {series.map(({ name, text, texts }, n) => (
          <span key={name} className="legend-entry">
            <i className={`swatch s${n + 1}`} />
            <span className="legend-name">{name}</span>
            <span className="figure">{pointed === undefined ? text : texts[pointed]}</span>
          </span>
        ))}
      </div>
      <VisuallyHidden component="div">
        <table>
          <caption>
            {label}, {unit}
          </caption>
          <thead>
            <tr>
              <th scope="col">Period</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {starts.map((at, n) => (
              <tr key={at}>
                <th scope="row">{nameOf(at)}</th>
                {series.map(({ name, texts }) => (
                  <td key={name}>{texts[n]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </figure>
  );
}

/** Times in seconds, then the heights of the bars: the whole stack first, over which the others are drawn. */
function stack(starts: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  const sums: number[][] = [];
  const below = starts.map(() => 0);
  for (const { values } of series) {
    for (const [n, value] of values.entries()) below[n] = (below[n] ?? 0) + value;
    sums.unshift([...below]);
  }
  return [starts.map((start) => start / 1_000), ...sums];
}

type Drawing = {
  readonly starts: readonly number[];
  readonly count: number;
  /** The highest stack. */
  readonly most: number;
  nameOf(start: number): string;
  setPointed(index: number | undefined): void;
};

function optionsOf(
  element: HTMLElement,
  { starts, count, most, nameOf, setPointed }: Drawing,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const font = `12px ${style.fontFamily}`;
  const axis = {
    stroke: color("--mantine-color-dimmed"),
    font,
    ticks: { show: false },
    grid: { show: false },
  };
  const ticks = ticksOf(most);
  const half = ((starts[1] ?? 0) - (starts[0] ?? 0)) / 2_000 || 1_800;
  const bars = uPlot.paths.bars?.({ size: [0.7, 36] });
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? undefined)] },
    scales: {
      // Half a period more at both ends, so that no bar is clipped.
      x: { range: (_, min, max) => [min - half, max + half] },
      y: { range: [0, ticks.values.at(-1) ?? 1] },
    },
    axes: [
      { ...axis, space: 64, size: 32, values: (_, ticks) => ticks.map((seconds) => nameOf(seconds * 1_000)) },
      {
        ...axis,
        size: 64,
        grid: { stroke: color("--z-line"), width: 1 },
        splits: () => [...ticks.values],
        values: (_, values) => values.map((value) => value.toFixed(ticks.places)),
      },
    ],
    series: [
      {},
      ...Array.from({ length: count }, (_, n) => ({
        width: 0,
        fill: color(`--z-series-${count - n}`),
        points: { show: false },
        ...(bars && { paths: bars }),
      })),
    ],
  };
}
