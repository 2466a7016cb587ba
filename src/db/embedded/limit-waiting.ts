import type { Pool, PoolClient, QueryConfig } from "pg";
import { AppError } from "../../kernel/errors.ts";

/** The number of statements that may wait for a connection of the pool, and the total size of their parameters. */
export type WaitingLimits = { readonly maxStatements: number; readonly maxCharacters: number };

/**
 * Bounds the queue for a connection of `pool`: beyond the limits a statement or a transaction fails at once with
 * `unavailable`, so that a burst does not pile up. `pg` limits the time in the queue, but not its length.
 */
export function limitWaiting(pool: Pool, { maxStatements, maxCharacters }: WaitingLimits): void {
  let characters = 0;
  const refusal = () =>
    pool.waitingCount >= maxStatements || characters > maxCharacters
      ? new AppError("unavailable", "The database is busy. Try again later.", { retryAfterSeconds: 1 })
      : undefined;

  const connect = pool.connect.bind(pool);
  pool.connect = ((done?: Connected) => {
    const error = refusal();
    if (!error) return done ? connect(done) : connect();
    return done ? done(error, undefined, () => {}) : Promise.reject(error);
  }) as Pool["connect"];

  const query = pool.query.bind(pool) as (config: QueryConfig) => Promise<unknown>;
  pool.query = (async (config: QueryConfig) => {
    const size = config.values?.reduce((sum: number, value) => sum + lengthOf(value), 0) ?? 0;
    characters += size;
    try {
      return await query(config);
    } finally {
      characters -= size;
    }
  }) as Pool["query"];
}

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (reason?: Error | boolean) => void,
) => void;

function lengthOf(value: unknown): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
}
