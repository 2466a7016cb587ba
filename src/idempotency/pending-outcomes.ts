import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import { AppError } from "../kernel/errors.ts";
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
    const reason = await this.#writeAll().then(
      () => undefined,
      (error: unknown) => error,
    );
    for (const outcome of this.#outcomes) {
      const { requestId } = outcome;
      this.#log.error({ err: reason, requestId }, "the outcome of a request could not be stored");
      this.#end(outcome);
    }
  }

  /** Throws the last failure when all were tried, or at once when the database is unreachable: it takes none then. */
  async #writeAll(): Promise<void> {
    const nowMs = performance.now();
    let refusal: { readonly error: unknown } | undefined;
    for (const outcome of [...this.#outcomes]) {
      try {
        if (nowMs < outcome.untilMs) await outcome.write();
        else
          this.#log.error({ requestId: outcome.requestId }, "the outcome of a request could not be stored");
        this.#end(outcome);
      } catch (error) {
        if (isOutage(error)) throw error;
        refusal = { error };
      }
    }
    if (refusal) throw refusal.error;
    if (this.#outcomes.size === 0) void this.#retries.stop();
  }

  #end(outcome: Outcome): void {
    this.#outcomes.delete(outcome);
    this.#bytes -= outcome.sizeBytes;
    outcome.done();
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}
