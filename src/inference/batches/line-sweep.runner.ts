import type { Queries } from "../../db/database.ts";
import { inBatches, PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import { forgetLines } from "./batch-lines.store.ts";

const EVERY_MS = 60_000;
const BATCH = 1_000;

/** Deletes the lines of batches that have ended: their answers are in the files. */
export class LineSweep {
  readonly #queries: Queries;
  readonly #task: PeriodicTask;

  constructor(queries: Queries, log: Logger) {
    this.#queries = queries;
    this.#task = new PeriodicTask({
      everyMs: EVERY_MS,
      work: () => this.sweep(),
      failed: (error) => log.error({ err: error }, "deleting the lines of ended batches failed"),
    });
  }

  /** Deletes all of them. Returns the count. */
  sweep(): Promise<number> {
    return inBatches(BATCH, (limit) => forgetLines(this.#queries, limit));
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
