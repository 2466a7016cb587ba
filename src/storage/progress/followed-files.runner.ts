import type { Database } from "../../db/database.ts";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { StorageNode } from "../node/storage-node.ts";
import { progressOf, recordProgress } from "./progress.store.ts";

type Dependencies = {
  readonly database: Database;
  readonly chainId: number;
  readonly node: Pick<StorageNode, "find">;
  readonly log: Logger;
  readonly committed: () => void;
};

const POLL_MS = 2_000;
/** The limit of one `StorageNode.find` call. */
const POLL_BATCH = 100;

/**
 * Polls the storage nodes for the files that streams follow, and records their progress, since uploads may bypass this
 * product. Without streams it polls nothing.
 */
export class FollowedFiles {
  readonly #dependencies: Dependencies;
  /** The number of streams that follow a root in this process. */
  readonly #followed = new Map<Hex, number>();
  readonly #polls: PeriodicTask;

  constructor(dependencies: Dependencies, pollMs = POLL_MS) {
    this.#dependencies = dependencies;
    this.#polls = new PeriodicTask({
      everyMs: pollMs,
      work: () => this.#poll(),
      failed: (error) =>
        dependencies.log.warn({ err: error }, "polling storage nodes for the progress of files failed"),
    });
  }

  /** Adds a stream that follows this root. */
  add(root: Hex): void {
    this.#followed.set(root, (this.#followed.get(root) ?? 0) + 1);
    this.#polls.start();
  }

  /** Removes a stream that `add` added. */
  remove(root: Hex): void {
    const left = (this.#followed.get(root) ?? 1) - 1;
    if (left > 0) this.#followed.set(root, left);
    else this.#followed.delete(root);
    if (this.#followed.size === 0) void this.#polls.stop();
  }

  async stop(): Promise<void> {
    await this.#polls.stop();
  }

  /** A failed poll is repeated at the next interval, so that followers get the event once the nodes answer again. */
  async #poll(): Promise<void> {
    const { database, chainId, node, committed } = this.#dependencies;
    const roots = [...this.#followed.keys()];
    for (let from = 0; from < roots.length; from += POLL_BATCH) {
      const ids = roots.slice(from, from + POLL_BATCH).map((root) => ({ root }));
      const found = (await node.find(ids)).filter((file) => file !== undefined);
      await database.transaction((tx) => recordProgress(tx, chainId, found.map(progressOf)));
    }
    committed();
  }
}
