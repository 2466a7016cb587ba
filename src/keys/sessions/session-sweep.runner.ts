import type { Database } from "../../db/database.ts";
import { inBatches, PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import { forgetExpired } from "./session.store.ts";

const EVERY_MS = 60_000;
const BATCH = 1_000;

/** Deletes expired nonces and sessions, in batches. */
export class SessionSweep {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #task = new PeriodicTask({
    everyMs: EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#log.error({ err: error }, "deleting expired sessions failed"),
  });

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  /** Deletes everything that has expired. Returns the number of deleted rows. */
  sweep(): Promise<number> {
    return inBatches(BATCH, (limit) => forgetExpired(this.#database, limit));
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    this.#task.start();
  }

  /** Stops; resolves when the current sweep has finished. */
  stop(): Promise<void> {
    return this.#task.stop();
  }
}
