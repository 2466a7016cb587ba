import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { StartupError } from "./kernel/errors.ts";

type Environment = Record<string, string | undefined>;

const DEFAULT_FILE = ".env";

/** Shorter names are too similar to each other. */
const MIN_COMPARED = 5;
const MAX_DIFFERENCES = 2;

/**
 * Adds the settings of `.env` in the working directory to `environment`; a variable that is already set there wins.
 * `ENV_FILE` names another file, or none when it is empty. Throws `StartupError` when a named file is missing, when the
 * file cannot be read, for lines that are not `NAME=value`, and for names that look like a misspelling of one of
 * `settings`; other names are left to libraries.
 */
export function loadEnvFile(environment: Environment, settings: readonly string[]): void {
  const path = environment.ENV_FILE ?? DEFAULT_FILE;
  if (path === "") return;
  const text = readText(path, environment.ENV_FILE === undefined);
  if (text === undefined) return;
  const malformed: number[] = [];
  const misspelled: string[] = [];
  // Of several lines with one name the last one counts, as for Node, systemd and Compose.
  const found: Record<string, string> = {};
  for (const [at, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const variable = readVariable(line);
    if (!variable) {
      malformed.push(at + 1);
      continue;
    }
    const { name, value } = variable;
    misspelled.push(...misspellings([name], settings));
    found[name] = value;
  }
  if (malformed.length > 0)
    throw new StartupError(`${path}: must be NAME=value, one a line: line ${malformed.join(", line ")}.`);
  if (misspelled.length > 0) throw new StartupError(`${path}: ${misspelled.join("; ")}.`);
  for (const [name, value] of Object.entries(found)) environment[name] ??= value;
}

/** A sentence for each name that looks like a misspelling of one of `settings`. */
export function misspellings(names: readonly string[], settings: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const meant = settings.includes(name) ? undefined : settings.find((setting) => isNear(name, setting));
    return meant === undefined ? [] : [`${name} is no setting, ${meant} is`];
  });
}

/** Whether two names are at most two edits apart: missing, added or replaced characters, or one swapped pair. */
function isNear(name: string, setting: string): boolean {
  if (Math.min(name.length, setting.length) < MIN_COMPARED) return false;
  if (Math.abs(name.length - setting.length) > MAX_DIFFERENCES) return false;
  let row = Array.from({ length: setting.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...name].entries()) {
    const next = [at + 1];
    for (const [other, expected] of [...setting].entries()) {
      const replaced = (row[other] ?? 0) + (letter === expected ? 0 : 1);
      next.push(Math.min(replaced, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1));
    }
    row = next;
  }
  return (row[setting.length] ?? 0) <= MAX_DIFFERENCES;
}

function readText(path: string, isOptional: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" && isOptional) return undefined;
    throw new StartupError(`${isOptional ? path : `ENV_FILE: ${path}`} cannot be read (${code}).`, { cause });
  }
}

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/;

/** Parses line by line: Node's parser skips lines that it cannot read, and an unclosed quote swallows later lines. */
function readVariable(line: string): { readonly name: string; readonly value: string } | undefined {
  const [, name = "", rest = ""] = ASSIGNMENT.exec(line) ?? [];
  const quote = /^["'`]/.exec(rest)?.[0];
  if (quote && rest.indexOf(quote, 1) < 0) return undefined;
  const value = parseEnv(line)[name];
  return value === undefined ? undefined : { name, value };
}
