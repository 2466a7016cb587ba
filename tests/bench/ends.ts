import { guardRun } from "../support/run/guard-run.ts";
import type { OnEnd } from "../support/servers/database.ts";

/**
 * Runs `work` and then, newest first, every cleanup that it registered, also when it fails or is interrupted. What is
 * left when this process is killed is ended by the run's reaper.
 */
export async function withEnds(work: (onEnd: OnEnd) => Promise<void>): Promise<void> {
  const run = guardRun();
  const ends = [() => run.end()];
  const endAll = async () => {
    for (const end of ends.splice(0)) await end().catch((error: unknown) => console.error(error));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void endAll().then(() => process.exit(1)));
  try {
    await work((end) => void ends.unshift(end));
  } finally {
    await endAll();
  }
}
