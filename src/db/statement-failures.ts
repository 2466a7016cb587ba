import { AppError } from "../kernel/errors.ts";

/**
 * A prepared statement that this connection does not have, or has from another process: there is a pooler in between.
 * The statement had no effect.
 */
export function isForeignName(error: unknown): boolean {
  const { code } = Object(error);
  return code === "26000" || code === "42P05";
}

/** The transaction was rolled back, and the next one is not prepared. */
export function notPrepared(cause: unknown): AppError {
  return new AppError("unavailable", "The database is changing connections. Try again.", { cause });
}

/** A serialization failure or a deadlock: the statement had no effect. */
export function isAborted(error: unknown): boolean {
  const { code } = Object(error);
  return code === "40001" || code === "40P01";
}
