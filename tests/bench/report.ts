import { readFile, writeFile } from "node:fs/promises";
import { arch, cpus, release } from "node:os";
import { type Measured, quantile, type Target } from "./load.ts";
import type { Figure, Rounds, Scenario } from "./scenario.ts";

const RESULTS = new URL("RESULTS.md", import.meta.url);
const MARKS = ["<!-- figures: written by npm run bench -->", "<!-- end of figures -->"] as const;

/** The baseline of all others, under a short name. */
export type Base = { readonly name: string; readonly target: Target };

/**
 * The table of a run, as Markdown: medians over the rounds; ratios are taken within a round, then their
 * median.
 */
export function toTable(measured: Rounds, bases: readonly Base[]): string {
  const lines: string[] = [];
  for (const [scenario, results] of measured) {
    lines.push("", `**${scenario.name}**`, "", ...header(scenario.figures, bases));
    for (const [target, rounds] of results) {
      const cells = scenario.figures.flatMap((figure) => [
        format(median(rounds.map(figure.of)), figure),
        ...bases.map(({ target: to }) => compare(figure, rounds, results.get(to) ?? [])),
      ]);
      lines.push(`| ${target.name} | ${cells.join(" | ")} |`);
    }
  }
  return lines.join("\n");
}

/** Writes a run's table into RESULTS.md, in place of the last one. */
export function writeResults(table: string, notes: readonly string[]): Promise<void> {
  return writeSection(MARKS, `${notes.map((note) => `- ${note}`).join("\n")}\n${table}\n`);
}

/** Replaces what is between two lines of RESULTS.md. */
export async function writeSection([begin, end]: readonly [string, string], section: string): Promise<void> {
  const text = await readFile(RESULTS, "utf8");
  const [before, rest = ""] = text.split(begin);
  const after = rest.split(end)[1] ?? "\n";
  await writeFile(RESULTS, `${before}${begin}\n${section}\n${end}${after}`);
}

/** The machine and the versions of a run. */
export function describeMachine(): string {
  const [cpu] = cpus();
  return `${cpus().length} cores (${cpu?.model.trim()}), Linux ${release()} ${arch()}, Node ${process.versions.node}`;
}

/**
 * The widest spread among rounds of the same measurement, as a share: above a limit the run should be
 * repeated.
 */
export function spreadOf(measured: Rounds, target: Target): number {
  const spreads = [...measured.values()].map((results) => {
    const rates = (results.get(target) ?? []).map(({ perSecond }) => perSecond).sort((a, b) => a - b);
    return (quantile(rates, 1) - quantile(rates, 0)) / quantile(rates, 0.5);
  });
  return Math.max(...spreads);
}

function header(figures: Scenario["figures"], bases: readonly Base[]): readonly string[] {
  const names = figures.flatMap(({ label, compare: how }) => [
    label,
    ...bases.map(({ name }) => (how === "quotient" ? `x ${name}` : `over ${name}`)),
  ]);
  return [`| | ${names.join(" | ")} |`, `|---|${names.map(() => "---:|").join("")}`];
}

function compare(figure: Figure, rounds: readonly Measured[], base: readonly Measured[]): string {
  const pairs = rounds.flatMap((mine, round) => {
    const theirs = base[round];
    return theirs ? [[figure.of(mine), figure.of(theirs)] as const] : [];
  });
  if (figure.compare === "quotient") return median(pairs.map(([mine, theirs]) => mine / theirs)).toFixed(2);
  const added = median(pairs.map(([mine, theirs]) => mine - theirs));
  return `${added >= 0 ? "+" : ""}${added.toFixed(2)}`;
}

function format(value: number, { compare: how }: Figure): string {
  return how === "quotient" ? Math.round(value).toString() : value.toFixed(2);
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
