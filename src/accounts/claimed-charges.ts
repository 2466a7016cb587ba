import type { Queries } from "../db/database.ts";
import { markCharged } from "../idempotency/claims.store.ts";
import { costOf, type Settlement } from "./settlements.store.ts";

/** Whether one of the settlements charges a request with an idempotency key: it then needs a transaction. */
export function hasClaims(settlements: readonly Settlement[]): boolean {
  return settlements.some(isClaimed);
}

/**
 * The settlements of requests in the transaction that charges them, in which those with an idempotency key are marked
 * as charged. One whose key has become free, because its process seemed to be dead, charges nothing: its client may
 * have been charged for a repeated request.
 */
export async function withClaims(
  tx: Queries,
  settlements: readonly Settlement[],
): Promise<readonly Settlement[]> {
  const claimed = settlements.filter(isClaimed);
  if (claimed.length === 0) return settlements;
  const charged = await markCharged(
    tx,
    claimed.map(({ claimedBy: account = "", id: requestId }) => ({ account, requestId })),
  );
  return settlements.map((settlement) =>
    isClaimed(settlement) && !charged.has(settlement.id) ? uncharged(settlement) : settlement,
  );
}

function isClaimed(settlement: Settlement): boolean {
  return settlement.claimedBy !== undefined && costOf(settlement) > 0n;
}

function uncharged(settlement: Settlement): Settlement {
  return { ...settlement, outcome: "failed", errorCode: "expired", inputCost: 0n, outputCost: 0n };
}
