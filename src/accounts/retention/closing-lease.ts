import type { Database } from "../../db/database.ts";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import { endLease, LEASE_SECONDS, LeaseLostError, renewLease, takeLease } from "./closed-months.store.ts";

const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;

/**
 * The lease of the process that closes months, renewed until `end`: a verification of the ledger, or reading an archive
 * back, takes longer than the lease lasts.
 */
export class ClosingLease {
  readonly #database: Database;
  readonly #processId: string;
  readonly #lost = new AbortController();
  readonly #renewals: PeriodicTask;

  private constructor(database: Database, processId: string, renewMs: number) {
    this.#database = database;
    this.#processId = processId;
    this.#renewals = new PeriodicTask({
      everyMs: renewMs,
      work: () => renewLease(database, processId),
      // While the database is away, the next renewal may be in time, and each transaction checks the lease itself.
      failed: (error) => error instanceof LeaseLostError && this.#lost.abort(error),
    });
  }

  /** Takes the lease for a process; undefined while another process has it. */
  static async take(
    database: Database,
    processId: string,
    renewMs = RENEW_MS,
  ): Promise<ClosingLease | undefined> {
    if (!(await takeLease(database, processId))) return undefined;
    const lease = new ClosingLease(database, processId, renewMs);
    lease.#renewals.start({ isLater: true });
    return lease;
  }

  /** Aborts with a `LeaseLostError` once another process has taken the lease. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Gives the lease back, if this process still has it. */
  async end(): Promise<void> {
    await this.#renewals.stop();
    await endLease(this.#database, this.#processId);
  }
}
