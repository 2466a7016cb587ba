import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import type { RetentionService } from "./retention.service.ts";

const EVERY_MS = 3_600_000;

/** Closes months in the background, when they are due. Every worker has one; one at a time works. */
export class RetentionRunner {
  readonly #retention: RetentionService;
  readonly #runs: PeriodicTask;

  constructor(retention: RetentionService, log: Logger) {
    this.#retention = retention;
    this.#runs = new PeriodicTask({
      everyMs: EVERY_MS,
      work: () => retention.run(),
      failed: (error) => log.error({ err: error }, "a month could not be closed; trying again in an hour"),
    });
  }

  /** Looks for due months now and every hour until `stop`. */
  start(): void {
    this.#runs.start();
  }

  /** Stops after the current slice. */
  async stop(): Promise<void> {
    this.#retention.stop();
    await this.#runs.stop();
  }
}
