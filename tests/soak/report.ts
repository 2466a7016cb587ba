import type { Check } from "./judge.ts";
import type { Sample } from "./sample.ts";
import { MIX } from "./traffic.ts";

/** The record of one set. */
export type SetReport = {
  readonly name: string;
  readonly samples: readonly Sample[];
  readonly idle: Sample;
  readonly checks: readonly Check[];
};

const MIB = 1_048_576;
const ROWS = 12;
const TABLES = 10;
const COLUMNS = [
  "minute",
  "actions",
  "core %",
  "memory MiB",
  "heaps MiB",
  "handles",
  "descriptors",
  "loop p99 ms",
  "data MiB",
  "WAL MiB",
  "files MiB",
  "events",
  "unpublished",
  "holds",
];

/** The sections of a run, as Markdown. */
export function toMarkdown(head: readonly string[], reports: readonly SetReport[]): string {
  const mix = Object.entries(MIX).map(([name, count]) => `${count} ${name}`);
  return [...head, `- Of 100 actions: ${mix.join(", ")}.`, ...reports.flatMap(toSection)].join("\n");
}

function toSection({ name, samples, idle, checks }: SetReport): readonly string[] {
  const shown = samples.filter(
    (_, n) => n === samples.length - 1 || n % Math.ceil(samples.length / ROWS) === 0,
  );
  return [
    ...["", `**${name}**`, ""],
    ...table(COLUMNS, [
      ...shown.map((sample) => toRow(String(Math.round(sample.minute)), sample)),
      toRow("idle", idle),
    ]),
    "",
    ...table(
      ["bound, over the last half", "measured", "bound", ""],
      checks.map(({ what, measured, bound, isKept }) => [what, measured, bound, isKept ? "" : "**BROKEN**"]),
    ),
    "",
    ...tablesOf(samples),
  ];
}

function toRow(title: string, sample: Sample): readonly string[] {
  const processes = Object.values(sample.processes);
  const sum = (of: (process: (typeof processes)[number]) => number) =>
    processes.reduce((total, process) => total + of(process), 0);
  return [
    title,
    String(sample.actions),
    (sample.share * 100).toFixed(0),
    mib(sum(({ residentBytes, childrenBytes }) => residentBytes + childrenBytes)),
    mib(sum(({ heapBytes }) => heapBytes)),
    String(sum(({ handles }) => handles)),
    String(sum(({ descriptors }) => descriptors)),
    Math.max(...processes.map(({ delayMs }) => delayMs)).toFixed(0),
    mib(sample.dataBytes),
    mib(sample.walBytes),
    mib(sample.storedBytes),
    String(sample.outbox),
    String(sample.unpublished),
    `${sample.holds}, ${sample.allotments}`,
  ];
}

/** The tables that grew most in the last half. */
function tablesOf(samples: readonly Sample[]): readonly string[] {
  const [first, last] = [samples[Math.floor(samples.length / 2)], samples.at(-1)];
  if (!first || !last) return [];
  const requests = last.billed - first.billed;
  const grown = Object.entries(last.tables)
    .map(([name, bytes]) => ({ name, bytes, growth: bytes - (first.tables[name] ?? 0) }))
    .toSorted((one, other) => other.growth - one.growth)
    .slice(0, TABLES)
    .filter(({ growth }) => growth > 0);
  return table(
    ["table with its indexes", "MiB at the end", "grew by, bytes a request"],
    grown.map(({ name, bytes, growth }) => [
      `\`${name}\``,
      mib(bytes),
      String(Math.round(growth / requests)),
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map((_, n) => (n === 0 ? "---|" : "---:|")).join("")}`, ...rows.map(line)];
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}
