import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Logger } from "../kernel/log.ts";

const RETRY_MS = 1_000;
const MAX_OUTCOMES = 1_000;
const MAX_BYTES = 64 * 1_048_576;

/** How a request ended, which the database did not take: `write` stores it, with an answer of `sizeBytes`. */
type Outcome = {
  readonly requestId: string;
  readonly sizeBytes: number;
  /** On the clock of `performance`. */
  readonly untilMs: number;
  write(): Promise<unknown>;
  /** Called once, when it is stored or given up. */
  done(): void;
};

/**
 * Outcomes of requests that could not be stored, since the database was unreachable for a moment: they are written again
 * every second until the database takes them or their time is over.
 */
export class PendingOutcomes {
  readonly #log: Logger;
  readonly #outcomes = new Set<Outcome>();
  readonly #retries = new PeriodicTask({
    everyMs: RETRY_MS,
    work: () => this.#writeAll(),
    failed: (error) => this.#log.warn({ err: error }, "outcomes of requests wait for the database"),
  });
  #bytes = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Keeps an outcome that failed with `reason`. Beyond 1,000 of them or 64 MiB, it is given up at once. */
  add(outcome: Outcome, reason: unknown): void {
    const { requestId, sizeBytes } = outcome;
    if (this.#outcomes.size >= MAX_OUTCOMES || this.#bytes + sizeBytes > MAX_BYTES) {
      this.#log.error({ err: reason, requestId }, "the outcome of a request could not be stored");
      outcome.done();
      return;
    }
    this.#outcomes.add(outcome);
    this.#bytes += sizeBytes;
    this.#retries.start({ isLater: true });
  }

  /** Gives up what a last attempt does not store. */
  async stop(): Promise<void> {
    await this.#retries.stop();
    await this.#writeAll().catch(() => {});
    for (const outcome of this.#outcomes) this.#end(outcome);
  }

  async #writeAll(): Promise<void> {
    const nowMs = performance.now();
    for (const outcome of this.#outcomes) {
      if (nowMs < outcome.untilMs) await this.#write(outcome);
      else this.#log.error({ requestId: outcome.requestId }, "the outcome of a request could not be stored");
      this.#end(outcome);
    }
    if (this.#outcomes.size === 0) void this.#retries.stop();
  }

  async #write(outcome: Outcome): Promise<void> {
    try {
      await outcome.write();
    } catch (error) {
      // The next attempt begins with the others: the database may refuse only this one.
      this.#outcomes.delete(outcome);
      this.#outcomes.add(outcome);
      throw error;
    }
  }

  #end(outcome: Outcome): void {
    this.#outcomes.delete(outcome);
    this.#bytes -= outcome.sizeBytes;
    outcome.done();
  }
}
