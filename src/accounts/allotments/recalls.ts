import type { Queries } from "../../db/database.ts";
import type { WaitingClock } from "../../kernel/clock.ts";
import { LEASE_SECONDS } from "./leases.store.ts";
import { areRecalled } from "./recalls.store.ts";

const FIRST_PAUSE_MS = 5;
const LAST_PAUSE_MS = 100;

/**
 * Waits until the processes that hold these allotments have returned the unused part and admit nothing more on it:
 * until they confirm this, or until every lease that was valid at the recall has ended. A process that is stopped or
 * cut off delays the caller no longer than that. Resolves with whether all have returned it: false at once if `signal`
 * aborts.
 */
export async function awaitReturn(
  queries: Queries,
  clock: WaitingClock,
  allotmentIds: readonly string[],
  signal = new AbortController().signal,
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + 1_000 * LEASE_SECONDS;
  const areLeft = async () => allotmentIds.length > 0 && (await areRecalled(queries, allotmentIds));
  for (let pauseMs = 0; await areLeft(); pauseMs = Math.min(2 * pauseMs + FIRST_PAUSE_MS, LAST_PAUSE_MS)) {
    if (signal.aborted || clock.monotonicMs() >= untilMs) return false;
    await clock.sleep(pauseMs, signal);
  }
  return true;
}
