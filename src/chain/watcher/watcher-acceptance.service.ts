import type { Queries } from "../../db/database.ts";
import { StartupError } from "../../kernel/errors.ts";
import { readStatuses, recordAccepted, type WatcherStatus } from "./log-watcher.store.ts";

/** The way out of a halt: an operator accepts that the chain which was read is gone. */
export class WatcherAcceptanceService {
  readonly #queries: Queries;
  readonly #chainId: number;

  constructor(queries: Queries, chainId: number) {
    this.#queries = queries;
    this.#chainId = chainId;
  }

  /**
   * Has a halted watcher take back what is gone at its next look, down to the newest block that both chains have, and
   * go on. Deposits that were credited stay credited. Answers how it halted; throws a line for the operator when there
   * is no such watcher, or when it did not halt.
   */
  async accept(name: string): Promise<WatcherStatus> {
    const statuses = await readStatuses(this.#queries);
    const status = statuses.get(name);
    if (!status) {
      const known = [...statuses].map(([other, { state }]) => `  ${other}: ${state}\n`).join("");
      throw new StartupError(`There is no watcher ${name || "without a name"}. There are:\n${known}`);
    }
    if (!(await recordAccepted(this.#queries, name, this.#chainId)))
      throw new StartupError(
        status.state === "halted_deep_reorg"
          ? `The watcher ${name} is of another chain than ${this.#chainId}: each chain needs a database of its own. Nothing was done.`
          : `The watcher ${name} did not halt: it is ${status.state}. Nothing was done.`,
      );
    return status;
  }
}
