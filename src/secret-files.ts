import { closeSync, openSync, readSync } from "node:fs";

/** The end of the name of a variable that names the file of a secret. */
export const FILE_SUFFIX = "_FILE";
const MAX_SECRET_BYTES = 64 * 1_024;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The value of a secret: the variable `name`, or else the content of the file that `<name>_FILE` names, without a byte
 * order mark, and without the line break at its end. Undefined if neither is set, and for an empty file if `mayBeEmpty`. Throws an `Error` that names
 * the variable if both are set, and if the file cannot be read, is empty, is not text, or is larger than 64 KiB.
 */
export function readSecret(environment: Environment, name: string, mayBeEmpty = false): string | undefined {
  const variable = `${name}${FILE_SUFFIX}`;
  const path = environment[variable] || undefined;
  if (path === undefined) return environment[name];
  if (environment[name]) throw new Error(`${name}: is set, and so is ${variable}; set one of them`);
  const value = readBounded(path, variable).replace(/\r?\n$/, "");
  if (value !== "") return value;
  if (mayBeEmpty) return undefined;
  throw new Error(`${variable}: ${path} is empty`);
}

function readBounded(path: string, variable: string): string {
  const bytes = Buffer.alloc(MAX_SECRET_BYTES + 1);
  let size = 0;
  try {
    const file = openSync(path, "r");
    try {
      for (let read = -1; read !== 0 && size < bytes.length; size += read)
        read = readSync(file, bytes, size, bytes.length - size, null);
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`${variable}: ${path} cannot be read (${code})`, { cause });
  }
  if (size > MAX_SECRET_BYTES) throw new Error(`${variable}: ${path} is larger than 64 KiB`);
  return textOf(bytes.subarray(0, size), path, variable);
}

/** Another encoding, such as UTF-16, would be another secret. */
function textOf(bytes: Uint8Array, path: string, variable: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`${variable}: ${path} is not UTF-8`, { cause });
  }
}
