import { detached } from "../tracing.ts";

/** What is done, how often, and where a failure is reported. */
export type PeriodicTaskOptions = {
  readonly everyMs: number;
  readonly work: () => Promise<unknown>;
  /** Called with what a run failed with; the next interval runs again. */
  readonly failed: (error: unknown) => void;
};

/**
 * Work that is repeated at an interval. Runs never overlap: an interval that ends during a run is skipped. Runs belong
 * to no trace, also when a request starts the task.
 */
export class PeriodicTask {
  readonly #options: PeriodicTaskOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: PeriodicTaskOptions) {
    this.#options = options;
  }

  /** Runs now, unless `isLater`, and at every interval until `stop`. Does nothing when it was started already. */
  start({ isLater = false } = {}): void {
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.run(), this.#options.everyMs);
    if (!isLater) void this.run();
  }

  /** Runs now, unless a run is in progress; resolves when that run has ended. Never rejects. */
  run(): Promise<void> {
    this.#running ??= detached(() => this.#run()).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Stops the interval and waits for the run in progress. It may be started again. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#options.work();
    } catch (error) {
      this.#options.failed(error);
    }
  }
}

/** Calls `work` with a limit until it is done with fewer rows than that. Returns the number of rows in all. */
export async function inBatches(limit: number, work: (limit: number) => Promise<number>): Promise<number> {
  for (let done = 0; ; ) {
    const batch = await work(limit);
    done += batch;
    if (batch < limit) return done;
  }
}
