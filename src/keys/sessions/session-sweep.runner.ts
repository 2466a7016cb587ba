import type { Database } from "../../db/database.ts";
import type { Logger } from "../../kernel/log.ts";
import { forgetExpired } from "./session.store.ts";

const EVERY_MS = 60_000;
const BATCH = 1_000;

/** Deletes what has expired, in batches: unused nonces and sessions that were not signed out. */
export class SessionSweep {
  readonly #database: Database;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  /** Deletes all that has expired by now. Returns how many rows are gone. */
  async sweep(): Promise<number> {
    let gone = 0;
    for (;;) {
      const batch = await forgetExpired(this.#database, BATCH);
      gone += batch;
      if (batch < BATCH) return gone;
    }
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    const sweep = () => {
      this.#running = this.sweep().catch((error: unknown) =>
        this.#log.error({ err: error }, "deleting expired sessions failed"),
      );
    };
    sweep();
    this.#timer = setInterval(sweep, EVERY_MS);
  }

  /** Resolves when the sweep under way is over. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}
