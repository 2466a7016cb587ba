import type { Queries } from "../db/database.ts";
import type { Logger } from "../kernel/log.ts";
import { resolveHolds, type Settlement } from "./settlements.store.ts";

type Dependencies = { readonly queries: Queries; readonly log: Logger; readonly committed: () => void };

const ROUND_MS = 500;
/** So many looks may find nothing once the database answers again: then what was sent to it never arrived. */
const MAX_ATTEMPTS = 20;
const MAX_STRAYS = 10_000;
const BATCH = 500;

/**
 * Holds about which the database did not say whether they were placed, or ended. A server that wakes still runs what
 * had reached it, also for a client that is gone, and a hold that no request knows of would keep a customer's money until
 * it expires. So they are ended here, as soon as they are found; a hold ends only once, so that trying again is safe.
 */
export class OrphanedHolds {
  readonly #dependencies: Dependencies;
  readonly #strays = new Map<string, { readonly end: Settlement; looks: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Takes charge of a hold. The last word on it counts. Beyond 10,000 of them a hold is left to its expiry. */
  note(end: Settlement): void {
    if (this.#strays.size >= MAX_STRAYS && !this.#strays.has(end.id)) return;
    this.#strays.set(end.id, { end, looks: 0 });
    this.#timer ??= setInterval(() => void this.#endThem(), ROUND_MS).unref();
  }

  /** Leaves the rest to expiry. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#strays.clear();
  }

  async #endThem(): Promise<void> {
    const batch = [...this.#strays.values()].slice(0, BATCH);
    let charged: readonly (bigint | undefined)[];
    try {
      charged = await resolveHolds(
        this.#dependencies.queries,
        batch.map(({ end }) => end),
      );
    } catch {
      return;
    }
    const found = batch.filter(({ end }, at) => {
      const stray = this.#strays.get(end.id);
      if (stray) stray.looks += 1;
      const isFound = charged[at] !== undefined;
      if (isFound || (stray && stray.looks >= MAX_ATTEMPTS)) this.#strays.delete(end.id);
      return isFound;
    });
    if (found.length > 0) {
      this.#dependencies.committed();
      this.#dependencies.log.warn({ holds: found.length }, "holds that an outage had left were ended");
    }
    if (this.#strays.size === 0) this.stop();
  }
}
