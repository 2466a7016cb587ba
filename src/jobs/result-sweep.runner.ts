import type { Queries } from "../db/database.ts";
import { inBatches, PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Logger } from "../kernel/log.ts";
import { forgetResults } from "./job-view.store.ts";

const EVERY_MS = 60_000;
const BATCH = 100;

/** Deletes expired job results, in batches; the jobs themselves stay in their owner's list. */
export class ResultSweep {
  readonly #queries: Queries;
  readonly #log: Logger;
  readonly #task = new PeriodicTask({
    everyMs: EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#log.error({ err: error }, "deleting expired job results failed"),
  });

  constructor(queries: Queries, log: Logger) {
    this.#queries = queries;
    this.#log = log;
  }

  /** Deletes all results that have expired. Returns the count. */
  sweep(): Promise<number> {
    return inBatches(BATCH, (limit) => forgetResults(this.#queries, limit));
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    this.#task.start();
  }

  /** Stops the timer and waits for the current sweep. */
  stop(): Promise<void> {
    return this.#task.stop();
  }
}
