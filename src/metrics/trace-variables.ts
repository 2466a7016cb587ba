import { readFileSync } from "node:fs";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { StartupError } from "../kernel/errors.ts";

/** Reads an environment variable; undefined if it is unset or empty. */
export type ReadVariable = (name: string) => string | undefined;

/** The longest a timer of Node can wait. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** OpenTelemetry's SDK ignores all resource attributes if one is longer. */
const MAX_ATTRIBUTE_LENGTH = 255;

/** The reason why a value cannot be used, in words that follow the name of its variable; undefined if it can. */
type Check = (value: string) => string | undefined;

/** By the name without `OTEL_EXPORTER_OTLP_` or `OTEL_EXPORTER_OTLP_TRACES_`. */
const EXPORTER: Readonly<Record<string, Check>> = {
  CERTIFICATE: unreadable,
  CLIENT_CERTIFICATE: unreadable,
  CLIENT_KEY: unreadable,
  COMPRESSION: (value) =>
    value === "gzip" || value === "none" ? undefined : "must be gzip or none, for example gzip",
  TIMEOUT: (value) =>
    Number(value) > 0 && Number(value) <= MAX_TIMEOUT_MS
      ? undefined
      : `must be a number of milliseconds above 0 and up to ${MAX_TIMEOUT_MS}, for example 5000`,
  HEADERS: (value) =>
    entriesOf(value).every(isHeader)
      ? undefined
      : "must be a list of key=value with commas between them and percent-encoded values, for example api-key=a%20secret",
};

/**
 * Checks the standard variables that OpenTelemetry's SDK reads itself: it would go on without a value that it cannot use.
 * Throws a `StartupError` that names the variable. No value is repeated except a path: headers have credentials.
 */
export function requireTraceVariables(variable: ReadVariable): void {
  const checks: [string, Check][] = Object.entries(EXPORTER).flatMap(([name, check]) => [
    [`OTEL_EXPORTER_OTLP_${name}`, check],
    [`OTEL_EXPORTER_OTLP_TRACES_${name}`, check],
  ]);
  for (const [name, check] of [...checks, ["OTEL_RESOURCE_ATTRIBUTES", attributeFault] as const]) {
    const value = variable(name)?.trim();
    const fault = value ? check(value) : undefined;
    if (fault) throw new StartupError(`${name}: ${fault}.`);
  }
}

/** How long the collector may take for an export, milliseconds; undefined if that is not set. */
export function exportTimeoutOf(variable: ReadVariable): number | undefined {
  for (const name of ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"]) {
    const value = variable(name)?.trim();
    if (value) return Number(value);
  }
  return undefined;
}

function unreadable(path: string): string | undefined {
  try {
    readFileSync(path);
    return undefined;
  } catch (cause) {
    return `${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`;
  }
}

function attributeFault(value: string): string | undefined {
  const isShort = (text: string) => text.length <= MAX_ATTRIBUTE_LENGTH;
  const isAttribute = (entry: string) => {
    const { key, value: text } = pairOf(entry) ?? {};
    return key !== undefined && text !== undefined && !/=.*=/.test(entry) && isShort(key) && isShort(text);
  };
  return entriesOf(value).every(isAttribute)
    ? undefined
    : `must be a list of key=value with commas between them, percent-encoded and of up to ${MAX_ATTRIBUTE_LENGTH} characters each, for example deployment.environment.name=production`;
}

function isHeader(entry: string): boolean {
  // What follows a semicolon is metadata in baggage, and not sent.
  const { key, value } = pairOf(entry.split(";", 1)[0] ?? "") ?? {};
  if (!key || !value) return false;
  try {
    validateHeaderName(key);
    validateHeaderValue(key, value);
    return true;
  } catch {
    return false;
  }
}

function entriesOf(list: string): readonly string[] {
  return list.split(",").filter((entry) => entry.trim() !== "");
}

/** The decoded key and value; undefined without a key, or if they cannot be decoded. */
function pairOf(entry: string): { readonly key: string; readonly value: string } | undefined {
  const [, key = "", value = ""] = /^\s*([^=]*[^=\s])\s*=(.*)$/s.exec(entry) ?? [];
  if (key === "") return undefined;
  try {
    return { key: decodeURIComponent(key), value: decodeURIComponent(value.trim()) };
  } catch {
    return undefined;
  }
}
