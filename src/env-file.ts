import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { StartupError } from "./kernel/errors.ts";

type Environment = Record<string, string | undefined>;

const DEFAULT_FILE = ".env";

/**
 * Adds the settings of `.env` in the working directory to `environment`; a variable that is set there already wins.
 * `ENV_FILE` names another file, and no file when it is empty. Throws `StartupError` for a file that is named and
 * missing, for one that cannot be read, and for lines that are not `NAME=value`.
 */
export function loadEnvFile(environment: Environment): void {
  const path = environment.ENV_FILE ?? DEFAULT_FILE;
  if (path === "") return;
  const text = readText(path, environment.ENV_FILE === undefined);
  if (text === undefined) return;
  const malformed: number[] = [];
  for (const [at, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const variable = readVariable(line);
    if (variable) environment[variable.name] ??= variable.value;
    else malformed.push(at + 1);
  }
  if (malformed.length > 0)
    throw new StartupError(`${path}: must be NAME=value, one a line: line ${malformed.join(", line ")}.`);
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

/** Line by line: Node's parser skips lines that it cannot read, and an unclosed quote takes in the lines after it. */
function readVariable(line: string): { readonly name: string; readonly value: string } | undefined {
  const [, name = "", rest = ""] = ASSIGNMENT.exec(line) ?? [];
  const quote = /^["'`]/.exec(rest)?.[0];
  if (quote && rest.indexOf(quote, 1) < 0) return undefined;
  const value = parseEnv(line)[name];
  return value === undefined ? undefined : { name, value };
}
