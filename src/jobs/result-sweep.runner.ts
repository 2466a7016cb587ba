import type { Queries } from "../db/database.ts";
import type { Logger } from "../kernel/log.ts";
import { forgetResults } from "./job-view.store.ts";

const EVERY_MS = 60_000;
const BATCH = 100;

/** Deletes the results of jobs whose time is over, in batches; the jobs themselves stay in their owner's list. */
export class ResultSweep {
  readonly #queries: Queries;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(queries: Queries, log: Logger) {
    this.#queries = queries;
    this.#log = log;
  }

  /** Deletes all whose time is over by now. Returns how many are gone. */
  async sweep(): Promise<number> {
    let gone = 0;
    for (;;) {
      const batch = await forgetResults(this.#queries, BATCH);
      gone += batch;
      if (batch < BATCH) return gone;
    }
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    const sweep = () => {
      this.#running = this.sweep().catch((error: unknown) =>
        this.#log.error({ err: error }, "deleting old results of jobs failed"),
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
