import type { Queries } from "../db/database.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Digest } from "../kernel/hash-in-parts.ts";
import type { Logger } from "../kernel/log.ts";
import { storeReturned } from "./receipts.store.ts";

const EVERY_MS = 500;
const BATCH = 500;
/** Beyond these, receipts state no hash of what was returned. */
const MAX_WAITING = 20_000;

/**
 * How often a hash is written until its draft is found: a settlement that failed, as the database was unreachable, is
 * repeated every half second.
 */
const MAX_WRITES = 20;

type Returned = { readonly requestId: string; readonly digest: Digest; readonly writes: number };

/**
 * Adds to drafts what is only known after the settlement, since the answer contains the bill: the hash of what the
 * client was sent. It is written in batches, off the way of the answer. If the process dies before, the receipt does
 * without it.
 */
export class ReturnedHashes {
  readonly #queries: Queries;
  readonly #log: Logger;
  #waiting: Returned[] = [];
  readonly #flushes = new PeriodicTask({
    everyMs: EVERY_MS,
    work: () => this.flush(),
    failed: (error) => this.#log.warn({ err: error }, "hashes of answers could not be stored; trying again"),
  });

  constructor(queries: Queries, log: Logger) {
    this.#queries = queries;
    this.#log = log;
  }

  /** Adds the hash for a request that was settled. It is stored within a second. */
  add(requestId: string, digest: Digest): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push({ requestId, digest, writes: 0 });
    this.#flushes.start({ isLater: true });
  }

  /** Writes what is waiting. What has no draft yet waits for the next time. */
  async flush(): Promise<void> {
    for (let left = this.#waiting.length; left > 0; ) {
      const batch = this.#waiting.slice(0, Math.min(BATCH, left));
      const stored = await storeReturned(this.#queries, batch);
      left -= batch.length;
      const missing = batch.flatMap(({ writes, ...hash }) =>
        stored.has(hash.requestId) || writes + 1 >= MAX_WRITES ? [] : { ...hash, writes: writes + 1 },
      );
      this.#waiting = [...this.#waiting.slice(batch.length), ...missing];
    }
  }

  /** Stores what is waiting, and stops: every settlement has been made or given up. */
  async stop(): Promise<void> {
    await this.#flushes.stop();
    await this.#flushes.run();
  }
}
