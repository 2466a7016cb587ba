import type { Database } from "../db/database.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Logger } from "../kernel/log.ts";
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
 * Ends a hold together with what was committed with it, if that is still possible. Resolves with whether it was found.
 */
export type Withdrawal = () => Promise<boolean>;

type Orphan = { readonly end: Settlement; readonly withdraw: Withdrawal | undefined; attempts: number };

/**
 * Holds for which an outage left it unknown whether they were placed or ended. A recovering server still executes
 * statements that had reached it, even for a disconnected client, and a hold without a request would lock a customer's
 * money until it expires. So such holds are ended here as soon as they are found; a hold ends only once, so retrying is
 * safe.
 */
export class OrphanedHolds {
  readonly #dependencies: Dependencies;
  readonly #orphans = new Map<string, Orphan>();
  readonly #rounds = new PeriodicTask({
    everyMs: ROUND_MS,
    work: () => this.#endAll(),
    // The database is still away.
    failed: () => {},
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Records a hold to be ended, by `withdraw` if that is given; the last settlement for an id wins. Beyond 10,000 holds,
   * the rest is left to expiry.
   */
  add(end: Settlement, withdraw?: Withdrawal): void {
    if (this.#orphans.size >= MAX_ORPHANS && !this.#orphans.has(end.id)) return;
    this.#orphans.set(end.id, { end, withdraw, attempts: 0 });
    this.#rounds.start({ isLater: true });
  }

  /** Stops after a last attempt; the remaining holds are left to expiry. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    if (this.#orphans.size > 0) await this.#rounds.run();
    this.#orphans.clear();
  }

  async #endAll(): Promise<void> {
    const all = [...this.#orphans.values()];
    const settled = all.filter(({ withdraw }) => withdraw === undefined);
    for (let at = 0; at < settled.length; at += BATCH) await this.#settle(settled.slice(at, at + BATCH));
    for (const orphan of all) if (orphan.withdraw) this.#attempted([orphan], [await orphan.withdraw()]);
    if (this.#orphans.size === 0) void this.#rounds.stop();
  }

  async #settle(orphans: readonly Orphan[]): Promise<void> {
    const ends = orphans.map(({ end }) => end);
    const charged = await chargeClaimed(this.#dependencies.queries, ends, (settlements, on) =>
      resolveHolds(on.queries, settlements),
    );
    this.#attempted(
      orphans,
      orphans.map((_, at) => charged[at] !== undefined),
    );
  }

  /** Forgets the holds that were found, and those that were looked for too often. */
  #attempted(orphans: readonly Orphan[], found: readonly boolean[]): void {
    for (const [at, orphan] of orphans.entries()) {
      orphan.attempts++;
      const isOver = found[at] || orphan.attempts >= MAX_ATTEMPTS;
      if (isOver && this.#orphans.get(orphan.end.id) === orphan) this.#orphans.delete(orphan.end.id);
    }
    const holds = found.filter(Boolean).length;
    if (holds === 0) return;
    this.#dependencies.committed();
    this.#dependencies.log.warn({ holds }, "holds that an outage had orphaned were ended");
  }
}
