import type { Pool } from "pg";

/**
 * Runs a statement in every session of `pool` that is open already. If it fails, the sessions are closed: as long as one
 * is in use, the pool does not end, and neither does the process that could not start.
 */
export async function queryOpenSessions(pool: Pool, text: string): Promise<void> {
  // All at once: the pool would give the same one again.
  const connecting = Array.from({ length: pool.totalCount }, () => pool.connect());
  const connected = await Promise.allSettled(connecting);
  const clients = connected.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  let isDone = false;
  try {
    await Promise.all(connecting);
    await Promise.all(clients.map((client) => client.query(text)));
    isDone = true;
  } finally {
    for (const client of clients) client.release(!isDone);
  }
}
