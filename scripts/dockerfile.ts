import { readFileSync } from "node:fs";

/** One instruction, such as `COPY` with `--from=built /app/dist /app/dist`. */
export type Instruction = { readonly name: string; readonly text: string };

/** A stage of a Dockerfile, from one `FROM` to the next. */
export type Stage = { readonly base: string; readonly name: string; readonly steps: readonly Instruction[] };

/** The stages of a Dockerfile, in order. */
export function readStages(path = "docs/deploy/Dockerfile"): readonly Stage[] {
  const lines = readFileSync(path, "utf8").replaceAll("\\\n", " ").split("\n");
  const stages: { base: string; name: string; steps: Instruction[] }[] = [];
  for (const line of lines) {
    const [, instruction = "", text = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (instruction === "FROM") {
      const [base = "", , name = ""] = text.split(/\s+/);
      stages.push({ base, name, steps: [] });
    } else if (instruction !== "") stages.at(-1)?.steps.push({ name: instruction, text });
  }
  return stages;
}

/** What a `COPY` instruction copies: its sources, its target, and the stage that has the sources. */
export function readCopy(text: string): {
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
} {
  const words = text.split(/\s+/);
  const flags = words.filter((word) => word.startsWith("--"));
  const paths = words.filter((word) => !word.startsWith("--"));
  return {
    from: flags.find((flag) => flag.startsWith("--from="))?.slice("--from=".length),
    sources: paths.slice(0, -1),
    target: paths.at(-1) ?? "",
  };
}

/** The variables that a stage sets. */
export function environmentOfStage(stage: Stage): Readonly<Record<string, string>> {
  const words = stage.steps.filter(({ name }) => name === "ENV").flatMap(({ text }) => text.split(/\s+/));
  return Object.fromEntries(words.map((word) => word.split("=", 2) as [string, string]));
}

/**
 * Whether `.dockerignore` keeps a path out of the build: the last pattern that matches the path, or a folder above it,
 * decides, as in Docker. Supports what the file uses: `*` within a name, `**` before one, and `!`.
 */
export function readIgnored(text = readFileSync(".dockerignore", "utf8")): (path: string) => boolean {
  const rules = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ isKept: line.startsWith("!"), pattern: toPattern(line.replace(/^!/, "")) }));
  return (path) => {
    const parts = path.split("/");
    const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    const last = rules.findLast(({ pattern }) => paths.some((candidate) => pattern.test(candidate)));
    return last !== undefined && !last.isKept;
  };
}

function toPattern(glob: string): RegExp {
  const source = glob
    .split(/(\*\*\/|\*)/)
    .map((part) =>
      part === "**/" ? "(?:.*/)?" : part === "*" ? "[^/]*" : part.replace(/[.+^${}()|[\]\\]/g, "\\$&"),
    )
    .join("");
  return new RegExp(`^${source}$`);
}
