import pg, { type Pool } from "pg";
import { AppError } from "../kernel/errors.ts";
import type { ServerAddress } from "./server-address.ts";

/**
 * Lets the server end every statement of `pool` that takes longer, from now on; 0 for no limit. Connections that are
 * there already are given the limit as well. Whoever waits for a lock counts as taking long.
 */
export async function limitStatements(pool: Pool, timeoutMs: number): Promise<void> {
  pool.options.statement_timeout = timeoutMs;
  const open = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  await Promise.all(open.map((client) => client.query(`set statement_timeout = ${timeoutMs}`)));
  for (const client of open) client.release();
}

/**
 * Throws where connections are refused that come with a time limit, as `limitStatements` has them: poolers take only
 * parameters that they know.
 */
export async function requireTimeLimits(address: ServerAddress, timeoutMs: number): Promise<void> {
  const client = new pg.Client({ ...address, statement_timeout: timeoutMs });
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (cause) {
    const { message } = cause as Error;
    if (!/startup parameter/.test(message)) throw cause;
    throw new Error(`${message}; a pooler in transaction mode needs DATABASE_POOLER=transaction`, { cause });
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether the server, or our own wait for its answer, ended a statement because of its time limit. */
export function isTimeout(error: unknown): boolean {
  const { code, message } = Object(error);
  return code === QUERY_CANCELED || message === "Query read timeout";
}

/** What callers receive for an ordinary statement that took too long, mostly waiting for a lock; all else as it is. */
export function timeoutOf(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (isTimeout(cause))
      return new AppError("unavailable", "The database takes too long. Try again later.", { cause: error });
  return error;
}

const QUERY_CANCELED = "57014";
