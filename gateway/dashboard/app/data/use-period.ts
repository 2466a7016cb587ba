import { useSyncExternalStore } from "react";
import { onTick } from "./tick.ts";

/**
 * When the present period of this length in UTC began, in milliseconds. A component that uses it is rendered again when
 * the next one begins: "the last 24 hours" of a page that is left open move on.
 */
export function usePeriod(lengthMs: number): number {
  return useSyncExternalStore(onTick, () => Math.floor(Date.now() / lengthMs) * lengthMs);
}
