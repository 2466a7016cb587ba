import type { Queries } from "../../db/database.ts";
import { releaseLostClaims } from "../../idempotency/claims.store.ts";
import { inBatches } from "../../kernel/async/periodic-task.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type EndedLease, findEndedLeases, releaseLost } from "./leases.store.ts";
import { releaseLostHolds } from "./lost-holds.store.ts";

type Dependencies = { readonly queries: Queries; readonly clock: Clock };

/** A lease that is over is left for so long: after an outage of the database, every process renews its own first. */
const PATIENCE_MS = 4_000;
const MAX_LEASES = 1_000;
const BATCH = 500;

/** Finds processes that died, and releases their holds, their allotments and the idempotency keys of their requests. */
export class LostMoney {
  readonly #dependencies: Dependencies;
  /** The leases that were over at an earlier look, by process. */
  #ended = new Map<string, EndedLease & { readonly seenMs: number }>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Releases what processes hold whose leases were over at two looks. Returns the number of holds and allotments. */
  async look(): Promise<number> {
    const { queries, clock } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    const ended = await findEndedLeases(queries, MAX_LEASES);
    // Statements may wait: a lease was seen when the answer arrived, and looked at again when the question was sent.
    const nowMs = clock.monotonicMs();
    const known = this.#ended;
    this.#ended = new Map(
      ended.map((lease) => {
        const before = known.get(lease.processId);
        const seenMs = before?.expiredAt === lease.expiredAt ? before.seenMs : nowMs;
        return [lease.processId, { ...lease, seenMs }];
      }),
    );
    const lost = [...this.#ended.values()].filter(({ seenMs }) => startedMs - seenMs >= PATIENCE_MS);
    if (lost.length === 0) return 0;
    // The lease goes with the last allotment, so that of a process which has holds or keys is found until then.
    const holds = await inBatches(BATCH, (limit) => releaseLostHolds(queries, lost, limit));
    await inBatches(BATCH, (limit) => releaseLostClaims(queries, lost, limit));
    return holds + (await inBatches(BATCH, (limit) => releaseLost(queries, lost, limit)));
  }
}
