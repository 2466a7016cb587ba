import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Mutant } from "./stryker.ts";

/** A mutant that no test detects: what stands in the code, and what may stand there instead. */
export type Survivor = {
  readonly file: string;
  readonly line: number;
  readonly original: string;
  readonly replacement: string;
};

const LIST = "tests/mutation/survivors.md";
const MAX_SHOWN = 100;
const ENTRY =
  /^- `(?<file>[^`:]+):(?<line>\d+)` `(?<original>[^`]*)` → `(?<replacement>[^`]*)`: (?<reason>.+)$/;

/** The survivors that are accepted, from the list with a reason for each. Throws for an entry that is none. */
export function readAccepted(): readonly Survivor[] {
  const entries = readFileSync(LIST, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("- "));
  return entries.map((entry) => {
    const { file, line, original, replacement } = ENTRY.exec(entry)?.groups ?? {};
    if (file === undefined || original === undefined || replacement === undefined)
      throw new Error(`${LIST} has an entry that is not a survivor with a reason: ${entry}`);
    return { file, line: Number(line), original, replacement };
  });
}

/** The survivors of a run, in the order of the code. */
export function survivorsOf(mutants: readonly Mutant[]): readonly Survivor[] {
  const survived = mutants.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  return survived
    .map(toSurvivor)
    .toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

/** The survivors of `found` that are not in `accepted`. Lines do not count: they move with each edit above. */
export function without(found: readonly Survivor[], accepted: readonly Survivor[]): readonly Survivor[] {
  const left = accepted.map(keyOf);
  return found.filter((survivor) => {
    const at = left.indexOf(keyOf(survivor));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** A survivor as the list shows it, without its reason. */
export function show({ file, line, original, replacement }: Survivor): string {
  return `- \`${file}:${line}\` \`${original}\` → \`${replacement}\`:`;
}

function keyOf({ file, original, replacement }: Survivor): string {
  return JSON.stringify([file, original, replacement]);
}

function toSurvivor({ fileName, location: { start, end }, replacement }: Mutant): Survivor {
  const file = relative(".", resolve(fileName));
  const lines = readFileSync(file, "utf8").split("\n");
  const inside = lines.slice(start.line - 1, end.line);
  const last = inside.length - 1;
  inside[last] = (inside[last] ?? "").slice(0, end.column - 1);
  inside[0] = (inside[0] ?? "").slice(start.column - 1);
  return { file, line: start.line, original: shown(inside.join(" ")), replacement: shown(replacement) };
}

/** Code in one line, which Markdown can quote. */
function shown(code: string): string {
  const text = code.replaceAll("`", "'").replace(/\s+/g, " ");
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
