import pino, { type Logger as PinoLogger } from "pino";

/** Structured lines on standard error: JSON, one object a line, secrets struck out. */
export type Logger = PinoLogger;

const SECRET = /\b(app-sk-|sk-|mk-|ws-)[A-Za-z0-9+/=_-]{8,}/g;
const MAX_TEXT = 8_192;

/** A logger at `level`; `destination` is standard error unless a test wants the lines. */
export function createLogger(
  level: string,
  destination: { write(line: string): void } = process.stderr,
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: ["*.authorization", "authorization", "*.secret", "secret"], censor: "[redacted]" },
    },
    { write: (line: string) => destination.write(redact(line)) },
  );
}

/** Strikes key secrets out of any text and bounds it to 8 KiB, for what is about to be logged. */
export function redact(text: string): string {
  const short = text.length > MAX_TEXT * 4 ? `${text.slice(0, MAX_TEXT * 4)}…\n` : text;
  return short.replace(SECRET, "$1[redacted]");
}
