import type { Queries } from "../../db/database.ts";
import { StartupError } from "../../kernel/errors.ts";
import { readStatuses, recordAccepted, type WatcherStatus } from "./log-watcher.store.ts";

/** Resumes a halted watcher: an operator accepts that the chain that was read is gone. */
export class WatcherAcceptanceService {
  readonly #queries: Queries;
  readonly #chainId: number;

  constructor(queries: Queries, chainId: number) {
    this.#queries = queries;
    this.#chainId = chainId;
  }

  /**
   * Lets a halted watcher roll back at its next step to the newest block that both chains share, and resume. Credited
   * deposits stay credited. Returns the status with which it halted. Throws a `StartupError` if there is no such
   * watcher, or if it is not halted.
   */
  async accept(name: string): Promise<WatcherStatus> {
    const statuses = await readStatuses(this.#queries);
    const status = statuses.get(name);
    if (!status) {
      const known = [...statuses].map(([other, { state }]) => `  ${other}: ${state}\n`).join("");
      throw new StartupError(`There is no watcher ${name || "without a name"}. Known watchers:\n${known}`);
    }
    if (!(await recordAccepted(this.#queries, name, this.#chainId)))
      throw new StartupError(
        status.state === "halted_deep_reorg"
          ? `The watcher ${name} does not follow chain ${this.#chainId}: each chain needs its own database. Nothing was done.`
          : `The watcher ${name} is not halted: its state is ${status.state}. Nothing was done.`,
      );
    return status;
  }
}
