import { setTimeout as sleep } from "node:timers/promises";
import { scaled } from "./machine.ts";

/** Below the limit of a test, whose own message would not name the condition. */
const LIMIT_MS = 600_000;
const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 100;

/**
 * Retries until `attempt` neither throws nor returns false, and returns its result. `patienceMs` is for an idle
 * machine: it is extended by as much as this one is slower when it runs out, to at most LIMIT_MS. Attempts get rarer:
 * those of tests that run side by side would take the processor from what they wait for.
 */
export async function until<T>(
  attempt: () => T | Promise<T>,
  patienceMs = 40_000,
): Promise<Exclude<T, false>> {
  const startedMs = performance.now();
  let deadlineMs = startedMs + patienceMs;
  const isOver = () => {
    if (performance.now() <= deadlineMs) return false;
    deadlineMs = startedMs + Math.max(patienceMs, Math.min(scaled(patienceMs), LIMIT_MS));
    return performance.now() > deadlineMs;
  };
  for (;;) {
    try {
      const result = await attempt();
      if (result !== false) return result as Exclude<T, false>;
      if (isOver()) throw new Error(`condition not met after ${patienceMs} ms: ${attempt}`);
    } catch (error) {
      if (isOver()) throw error;
    }
    await sleep(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, (performance.now() - startedMs) / 20)));
  }
}
