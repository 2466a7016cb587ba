import type { Database, Queries } from "../db/database.ts";
import { markCharged } from "../idempotency/claims.store.ts";
import { costOf, type Settlement, uncharged } from "./settlements.store.ts";

/** Where settlements are charged, and whether that is an open transaction. */
type Charging = { readonly queries: Queries; readonly isOpen: boolean };

/**
 * Charges settlements by `charge`. If one of them charges a request with an idempotency key, this is done in a
 * transaction that also marks the key as charged. If the key was freed because the process of the request seemed to be
 * dead, the settlement charges nothing: the client may have been charged for a repeated request.
 */
export function chargeClaimed<T>(
  database: Pick<Database, "rows" | "repeatable">,
  settlements: readonly Settlement[],
  charge: (settlements: readonly Settlement[], on: Charging) => Promise<T>,
): Promise<T> {
  const claimed = settlements.filter(isClaimed);
  if (claimed.length === 0) return charge(settlements, { queries: database, isOpen: false });
  const requests = claimed.map(({ claimedBy: account = "", id: requestId }) => ({ account, requestId }));
  return database.repeatable(async (queries) => {
    const charged = await markCharged(queries, requests);
    const own = settlements.map((settlement) =>
      isClaimed(settlement) && !charged.has(settlement.id) ? uncharged(settlement, "expired") : settlement,
    );
    return charge(own, { queries, isOpen: true });
  });
}

function isClaimed(settlement: Settlement): boolean {
  return settlement.claimedBy !== undefined && costOf(settlement) > 0n;
}
