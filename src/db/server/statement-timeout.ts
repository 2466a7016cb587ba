import type { Pool } from "pg";
import { AppError } from "../../kernel/errors.ts";
import { queryOpenSessions } from "./open-sessions.ts";
import { newClient, type ServerAddress } from "./server-address.ts";

/**
 * Sets the server's time limit for every further statement of `pool`; 0 for no limit. Existing connections get the
 * limit as well. Time spent waiting for a lock counts.
 */
export async function limitStatements(pool: Pool, timeoutMs: number): Promise<void> {
  pool.options.statement_timeout = timeoutMs;
  await queryOpenSessions(pool, `set statement_timeout = ${timeoutMs}`);
}

/**
 * Throws if connections with a time limit, as set by `limitStatements`, are rejected: poolers accept only parameters
 * that they know.
 */
export async function requireTimeLimits(address: ServerAddress, timeoutMs: number): Promise<void> {
  const client = newClient(address, { statement_timeout: timeoutMs });
  try {
    await client.connect();
  } catch (cause) {
    const { message } = cause as Error;
    if (!isUnknownParameter(cause)) throw cause;
    throw new Error(`${message}; a pooler in transaction mode needs DATABASE_POOLER=transaction`, { cause });
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether a connection was rejected for one of its parameters: poolers accept only those that they know. */
export function isUnknownParameter(error: unknown): boolean {
  return error instanceof Error && /startup parameter/.test(error.message);
}

/** Whether a statement exceeded its time limit, on the server or in the client's wait. */
export function isTimeout(error: unknown): boolean {
  return isTimeoutOfServer(error) || isTimeoutOfWait(error);
}

/** Whether the client stopped waiting for a statement, which still occupies the connection. */
export function isTimeoutOfWait(error: unknown): boolean {
  return Object(error).message === "Query read timeout";
}

/** Whether the server itself, which therefore responds, ended the statement. */
export function isTimeoutOfServer(error: unknown): boolean {
  return Object(error).code === QUERY_CANCELED;
}

/** Maps a statement timeout, mostly caused by a lock, to `unavailable`; other errors are returned unchanged. */
export function timeoutOf(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (isTimeout(cause))
      return new AppError("unavailable", "The database took too long. Try again later.", { cause: error });
  return error;
}

const QUERY_CANCELED = "57014";
