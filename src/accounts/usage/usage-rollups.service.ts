import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import { rollUpProviders } from "./provider-usage.store.ts";
import { clearRollups, findPending, rollUp } from "./usage-rollups.store.ts";

const EVERY_MS = 60_000;
/** So few requests are added up as fast when they are read. */
const PENDING = 1_000;
const ACCOUNTS = 1_000;
/** A step takes about 20 ms, also where the database has one connection. */
const STEP = 1_000;

type Dependencies = { readonly database: Database; readonly log: Logger };

/** Adds requests to the stored sums of their accounts' usage, in the background. Any number of processes may do so. */
export class UsageRollups {
  readonly #dependencies: Dependencies;
  #isStopped = false;
  readonly #sweeps = new PeriodicTask({
    everyMs: EVERY_MS,
    work: () => this.sweep(),
    failed: (error) => this.#dependencies.log.error({ err: error }, "adding up usage failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Adds the requests of every account that has at least `pending` new ones. Returns the number of requests that were
   * added to the sums of usage; requests that were missing only from the sums by provider do not count. Throws the
   * first failure when all other accounts are done. Ends after its current step once `signal` aborts.
   */
  async sweep(pending = PENDING, signal?: AbortSignal): Promise<number> {
    const isEnded = () => this.#isStopped || signal?.aborted === true;
    const { database } = this.#dependencies;
    const failures: unknown[] = [];
    let total = 0;
    for (let isMore = true; isMore; ) {
      const accounts = await findPending(database, pending, ACCOUNTS);
      let added = 0;
      for (const account of accounts) {
        if (isEnded()) break;
        try {
          const step = await this.#rollUp(account, isEnded);
          total += step.added;
          added += Math.max(step.added, step.byProvider);
        } catch (error) {
          failures.push(error);
        }
      }
      isMore = added > 0 && accounts.length === ACCOUNTS && !isEnded();
    }
    if (failures.length > 0) throw failures[0];
    return total;
  }

  /** Deletes the stored sums and adds up every request again, except those of accounts of which requests were removed. Returns the number of requests. */
  async rebuild(): Promise<number> {
    await this.#dependencies.database.transaction(clearRollups);
    return this.sweep(1);
  }

  /** Sweeps now and every minute until `stop`. */
  start(): void {
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#sweeps.stop();
  }

  /** Adds to both kinds of sums, of which those by provider may be behind. Returns the numbers of requests. */
  async #rollUp(
    account: string,
    isEnded: () => boolean,
  ): Promise<{ readonly added: number; readonly byProvider: number }> {
    const { database } = this.#dependencies;
    const added = await this.#repeat((limit) => rollUp(database, account, limit), isEnded);
    const byProvider = await this.#repeat((limit) => rollUpProviders(database, account, limit), isEnded);
    return { added, byProvider };
  }

  async #repeat(step: (limit: number) => Promise<number>, isEnded: () => boolean): Promise<number> {
    let total = 0;
    for (;;) {
      const startedMs = performance.now();
      const added = await step(STEP);
      total += added;
      if (added < STEP || isEnded()) return total;
      // Half of the time is left to others.
      await sleep(performance.now() - startedMs);
    }
  }
}
