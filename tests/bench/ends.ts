import type { OnEnd } from "../support/servers/database.ts";

/**
 * Runs `work` and then, newest first, every cleanup that it registered, also when it fails or is interrupted.
 */
export async function withEnds(work: (onEnd: OnEnd) => Promise<void>): Promise<void> {
  const ends: (() => Promise<void>)[] = [];
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
