import pino, { type Logger as PinoLogger } from "pino";
import { traceIds } from "./tracing.ts";

/** Structured logging to standard error: JSON, one object per line, secrets redacted. */
export type Logger = PinoLogger;

const SECRET = /\b(app-sk-|sk-|mk-|ws-)[A-Za-z0-9+/=_-]{8,}/g;
const MAX_TEXT = 8_192;
const MAX_MESSAGE = 1_000;
const MAX_DEPTH = 4;
const MAX_ITEMS = 100;

/** Members that are redacted at every level: credentials, prompts and responses, sealed keys. */
const HIDDEN: ReadonlySet<string> = new Set([
  "authorization",
  "secret",
  "token",
  "privatekey",
  "prompt",
  "messages",
  "content",
  "body",
  "sealedkey",
  "sealedkeys",
]);

/** A logger at `level`; tests may replace the `destination`, by default standard error. */
export function createLogger(
  level: string,
  destination: { write(line: string): void } = process.stderr,
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: () => traceIds(),
      // pino's own serializer would process errors a second time.
      serializers: { err: (fields) => fields },
      formatters: { log: (fields) => toFields(fields, 0) as Record<string, unknown> },
    },
    { write: (line: string) => destination.write(redact(line)) },
  );
}

/** Redacts key secrets in any text. */
export function redact(text: string): string {
  return text.replace(SECRET, "$1[redacted]");
}

/** Bounds every dimension, so that a line is never cut: 8 KiB per text, 100 members, 4 levels. */
function toFields(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cut(value, MAX_TEXT);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return errorFields(value, depth);
  if (value instanceof Date) return value;
  if (depth >= MAX_DEPTH || ArrayBuffer.isView(value)) return "[cut]";
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => toFields(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ITEMS)
      .map(([name, member]) => [
        name,
        HIDDEN.has(name.toLowerCase()) ? "[redacted]" : toFields(member, depth + 1),
      ]),
  );
}

/** Only the standard fields of an error: those of drivers, such as a query with its parameters, reveal too much. */
function errorFields(error: Error, depth: number): object {
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: cut(error.message, MAX_MESSAGE),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    stack: cut(framesOf(error), MAX_TEXT),
    ...(error.cause !== undefined && depth < MAX_DEPTH && { cause: toFields(error.cause, depth + 1) }),
  };
}

/** The stack without the message at its start, which may be long. */
function framesOf({ stack = "" }: Error): string {
  const at = stack.search(/^ {4}at /m);
  return at < 0 ? "" : stack.slice(at);
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
