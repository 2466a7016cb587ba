import { isDeepStrictEqual } from "node:util";
import { quantile } from "./load.ts";
import type { LoadResult } from "./peers/graph/engine.ts";

/** The duration of each measurement of a peer, the number of rounds, and the duration of the warm-up. */
export type GraphPace = {
  readonly rounds: number;
  readonly durationMs: number;
  readonly warmUpMs: number;
  /** How many documents a gateway sees for the first time in a round. */
  readonly newDocuments: number;
};

/** A peer, by its name, and how to measure it at one operation, or at one kind of load. */
export type Competitor<O = string> = {
  readonly name: string;
  /** The answer as JSON, or why it does not support the operation. */
  answer(operation: O): Promise<string>;
  /** Round 0 is the warm-up. */
  runLoad(operation: O, durationMs: number, round: number): Promise<LoadResult>;
};

/**
 * Measures all competitors at every operation, in turns, and reports which do not support it: a peer whose
 * answer differs from the first is not measured. Ratios are taken within a round, and their medians shown.
 */
export async function compete<O = string>(
  title: string,
  operations: Readonly<Record<string, O>>,
  competitors: readonly Competitor<O>[],
  { rounds, durationMs, warmUpMs }: GraphPace,
): Promise<string> {
  const tables: string[] = [];
  for (const [name, operation] of Object.entries(operations)) {
    const { able, notes } = await judge(operation, competitors);
    for (const { runLoad } of able) await runLoad(operation, warmUpMs, 0);
    const results = new Map(able.map((competitor) => [competitor, [] as LoadResult[]]));
    for (let round = 1; round <= rounds; round++)
      for (let turn = 0; turn < able.length; turn++) {
        const competitor = able[(turn + round) % able.length];
        if (competitor) results.get(competitor)?.push(await competitor.runLoad(operation, durationMs, round));
      }
    tables.push(
      `\n**${name}, ${title}**\n\n${toRows(results)}${notes.map((note) => `\n- ${note}`).join("")}`,
    );
  }
  return tables.join("\n");
}

async function judge<O>(operation: O, competitors: readonly Competitor<O>[]) {
  const able: Competitor<O>[] = [];
  const notes: string[] = [];
  let right: unknown;
  for (const competitor of competitors) {
    const answer = await competitor.answer(operation).catch((error: unknown) => String(error));
    const { data } = readAnswer(answer);
    right ??= data;
    if (data !== undefined && isDeepStrictEqual(data, right)) able.push(competitor);
    else
      notes.push(
        `${competitor.name} does not answer the same: ${answer.split("\n").slice(0, 3).join(" ").trim().slice(0, 200)}`,
      );
  }
  return { able, notes };
}

/**
 * Parsed twice, so that objects without a prototype compare equal to the others. Errors with data are not an
 * answer.
 */
function readAnswer(text: string): { readonly data?: unknown } {
  try {
    const { data, errors } = JSON.parse(text);
    return errors === undefined && data ? { data } : {};
  } catch {
    return {};
  }
}

function toRows(results: ReadonlyMap<{ readonly name: string }, readonly LoadResult[]>): string {
  const [ours = []] = results.values();
  const hasMemory = ours.some(({ peakMiB }) => peakMiB !== undefined);
  const lines = [...results].map(([{ name }, rounds]) => {
    const figure = (of: (pressed: LoadResult) => number, digits: number) =>
      median(rounds.map(of)).toFixed(digits);
    const ratio = (of: (mine: LoadResult, theirs: LoadResult) => number) =>
      median(rounds.flatMap((theirs, round) => (ours[round] ? of(ours[round], theirs) : []))).toFixed(2);
    return [
      name,
      figure(({ perSecond }) => perSecond, 0),
      ratio((mine, theirs) => mine.perSecond / theirs.perSecond),
      figure(({ p50Ms }) => p50Ms, 2),
      figure(({ p99Ms }) => p99Ms, 2),
      ratio((mine, theirs) => theirs.p99Ms / mine.p99Ms),
      figure(({ cpuMs }) => cpuMs, 3),
      ratio((mine, theirs) => theirs.cpuMs / mine.cpuMs),
      ...(hasMemory
        ? [
            rounds
              .at(-1)
              ?.peakMiB?.map((peak) => peak.toFixed(0))
              .join(" + ") ?? "",
          ]
        : []),
    ];
  });
  const better = "zerograph is better by x";
  const header = ["", "operations/s", better, "p50 ms", "p99 ms", better, "CPU ms an operation", better];
  if (hasMemory) header.push("peak RSS so far, MiB");
  const rule = ["---", ...header.slice(1).map(() => "---:")];
  return [header, rule, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The median. */
export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );
}
