import type { Queries } from "../db/database.ts";
import { beginCharges } from "../idempotency/claims.store.ts";
import { costOf, type Settlement } from "./settlements.store.ts";

/**
 * The settlements of requests, of which those with an idempotency key begin to be charged: see `beginCharges`. One whose
 * key has become free, because its process seemed to be dead, charges nothing: its client may have been charged for a
 * repeated request.
 */
export async function withClaims(
  queries: Queries,
  settlements: readonly Settlement[],
): Promise<readonly Settlement[]> {
  const claimed = settlements.flatMap((settlement) => {
    const { id: requestId, claimedBy: account } = settlement;
    return account === undefined || costOf(settlement) === 0n ? [] : [{ account, requestId }];
  });
  if (claimed.length === 0) return settlements;
  const charged = await beginCharges(queries, claimed);
  const lost = new Set(claimed.map(({ requestId }) => requestId).filter((id) => !charged.has(id)));
  return settlements.map((settlement) => (lost.has(settlement.id) ? uncharged(settlement) : settlement));
}

function uncharged(settlement: Settlement): Settlement {
  return { ...settlement, outcome: "failed", errorCode: "expired", inputCost: 0n, outputCost: 0n };
}
