import type { Database } from "../db/database.ts";
import type { Logger } from "../kernel/log.ts";
import { detached } from "../kernel/tracing.ts";
import { chargeClaimed } from "./claimed-charges.ts";
import { resolveHolds, type Settlement } from "./settlements.store.ts";

type Dependencies = {
  readonly queries: Pick<Database, "rows" | "repeatable">;
  readonly log: Logger;
  readonly committed: () => void;
};

const ROUND_MS = 500;
/** After this many attempts without a match, once the database responds again, the statement never arrived. */
const MAX_ATTEMPTS = 20;
const MAX_ORPHANS = 10_000;
const BATCH = 500;

/**
 * Holds for which an outage left it unknown whether they were placed or ended. A recovering server still executes
 * statements that had reached it, even for a disconnected client, and a hold without a request would lock a customer's
 * money until it expires. So such holds are ended here as soon as they are found; a hold ends only once, so retrying is
 * safe.
 */
export class OrphanedHolds {
  readonly #dependencies: Dependencies;
  readonly #orphans = new Map<string, { readonly end: Settlement; attempts: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Records a hold to be ended; the last settlement for an id wins. Beyond 10,000 holds, the rest is left to expiry.
   */
  add(end: Settlement): void {
    if (this.#orphans.size >= MAX_ORPHANS && !this.#orphans.has(end.id)) return;
    this.#orphans.set(end.id, { end, attempts: 0 });
    this.#timer ??= detached(() => setInterval(() => void this.#endAll(), ROUND_MS).unref());
  }

  /** Stops after a last attempt; the remaining holds are left to expiry. */
  async stop(): Promise<void> {
    if (this.#orphans.size > 0) await this.#endAll();
    this.#clear();
  }

  #clear(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#orphans.clear();
  }

  async #endAll(): Promise<void> {
    const batch = [...this.#orphans.values()].slice(0, BATCH);
    let charged: readonly (bigint | undefined)[];
    try {
      const { queries } = this.#dependencies;
      const due = batch.map(({ end }) => end);
      charged = await chargeClaimed(queries, due, (settlements, on) => resolveHolds(on.queries, settlements));
    } catch {
      return;
    }
    const found = batch.filter(({ end }, at) => {
      const orphan = this.#orphans.get(end.id);
      if (orphan) orphan.attempts += 1;
      const isFound = charged[at] !== undefined;
      if (isFound || (orphan && orphan.attempts >= MAX_ATTEMPTS)) this.#orphans.delete(end.id);
      return isFound;
    });
    if (found.length > 0) {
      this.#dependencies.committed();
      this.#dependencies.log.warn({ holds: found.length }, "holds that an outage had orphaned were ended");
    }
    if (this.#orphans.size === 0) this.#clear();
  }
}
