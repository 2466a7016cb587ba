import { setTimeout as sleep } from "node:timers/promises";

/** Tries until `attempt` neither throws nor answers false, and returns what it answered. */
export async function until<T>(
  attempt: () => T | Promise<T>,
  patienceMs = 40_000,
): Promise<Exclude<T, false>> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      const result = await attempt();
      if (result !== false) return result as Exclude<T, false>;
      if (performance.now() > deadline) throw new Error(`still not so after ${patienceMs} ms: ${attempt}`);
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(10);
  }
}
