import { setTimeout as sleep } from "node:timers/promises";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { Logger } from "../kernel/log.ts";

/** Processes that start at the same time on one server migrate one after another. */
const MIGRATION_LOCK = 7_260_814_003n;
/**
 * How long a migration waits for a table: longer than an expensive read takes, and well below the deadline of a
 * statement. Every statement on that table waits behind the migration, and a dump may hold the table for hours.
 */
const MAX_LOCK_WAIT_MS = 6_000;
/** Until the next attempt. Meanwhile the statements that waited are executed. */
const REST_MS = 6_000;

/** A lock that was not available in time, or a deadlock with statements of the previous version. */
const LOCKED = ["55P03", "40P01"];

/**
 * Migrates the schema. The lock belongs to the transaction in which all migrations run: behind a pooler, a session lock
 * would stay with the server's connection, and a second connection may not be available. An attempt that does not get a
 * table changes nothing, and is repeated until it does.
 */
export async function migrate(
  { em, migrator }: MikroORM,
  log: Pick<Logger, "warn"> | undefined,
): Promise<void> {
  // Creates the table of migrations outside the transaction; only one of several processes succeeds.
  await migrator.getPending().catch((error: unknown) => {
    if (!isDuplicate(error)) throw error;
  });
  for (;;) {
    try {
      await em.fork().transactional(async (tx) => {
        await tx.execute("set local statement_timeout = 0");
        await tx.execute("set local lock_timeout = 0");
        await tx.execute("set local idle_in_transaction_session_timeout = 0");
        await tx.execute("select pg_advisory_xact_lock(?)", [MIGRATION_LOCK]);
        await tx.execute(`set local lock_timeout = ${MAX_LOCK_WAIT_MS}`);
        await migrator.up({ transaction: tx.getTransactionContext() });
      });
      return;
    } catch (error) {
      if (!isLocked(error)) throw error;
      const why = (error as Error).message;
      log?.warn({ why }, "a migration waits for a table that is in use; trying again");
      await sleep(REST_MS);
    }
  }
}

/** A table or its type that already exists, even if another transaction has just created it. */
function isDuplicate(error: unknown): boolean {
  return ["42P07", "42710", "23505"].includes(Object(error).code);
}

function isLocked(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && LOCKED.includes(String(cause.code))) return true;
  return false;
}
