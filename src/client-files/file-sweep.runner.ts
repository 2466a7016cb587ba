import type { Queries } from "../db/database.ts";
import { inBatches, PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Logger } from "../kernel/log.ts";
import { forgetFiles, forgetParts, hideExpired } from "./client-file.store.ts";

const EVERY_MS = 60_000;
/** Parts have up to 1 MiB. */
const BATCH = 50;

/** Deletes the content of files that are deleted or expired, part by part. */
export class FileSweep {
  readonly #queries: Queries;
  readonly #isUsed: string;
  readonly #task: PeriodicTask;

  /** `isUsed` is SQL: whether the file `f` is still read by something of its own. */
  constructor(queries: Queries, log: Logger, isUsed: string) {
    this.#queries = queries;
    this.#isUsed = isUsed;
    this.#task = new PeriodicTask({
      everyMs: EVERY_MS,
      work: () => this.sweep(),
      failed: (error) => log.error({ err: error }, "deleting expired files failed"),
    });
  }

  /** Deletes all that is over. Returns the number of parts and files. */
  async sweep(): Promise<number> {
    await inBatches(BATCH, (limit) => hideExpired(this.#queries, limit, this.#isUsed));
    const parts = await inBatches(BATCH, (limit) => forgetParts(this.#queries, limit, this.#isUsed));
    return parts + (await inBatches(BATCH, (limit) => forgetFiles(this.#queries, limit, this.#isUsed)));
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
