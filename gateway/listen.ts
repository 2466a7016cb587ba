import { once } from "node:events";
import { createServer } from "node:net";
import type { FastifyInstance } from "fastify";
import { StartupError } from "../src/kernel/errors.ts";

/** Metrics are for this machine alone. */
export const METRICS_HOST = "127.0.0.1";

/** Where a process is to listen, and the setting that says the port. */
type Place = {
  readonly host: string;
  readonly port: number;
  readonly setting: "PORT" | "SUBGRAPH_PORT" | "METRICS_PORT";
  /** Whether others that share it too may listen there beside this process: its successor, or more of its kind. */
  readonly isShared?: boolean;
};

/**
 * Throws a `StartupError` where `listenAt` would, before anything else is started. A port that is shared is not tried:
 * connections of those who listen there could come to this try.
 */
export async function requireFreePort(place: Place): Promise<void> {
  const { host, port, isShared = false } = place;
  if (port === 0 || isShared) return;
  const trial = createServer();
  try {
    trial.listen({ host, port });
    await once(trial, "listening");
  } catch (cause) {
    throw explained(cause, place);
  }
  trial.close();
  await once(trial, "close");
}

/** Begins to listen. Throws a `StartupError` that names the setting at fault when the address cannot be had. */
export async function listenAt(server: FastifyInstance, place: Place): Promise<void> {
  const { host, port, isShared = false } = place;
  try {
    // Passed on to Node, though Fastify's types do not know it.
    await server.listen({ host, port, ...(isShared && { reusePort: true }) });
  } catch (cause) {
    throw explained(cause, place);
  }
}

function explained(cause: unknown, { host, port, setting }: Place): unknown {
  if (!(cause instanceof Error && "syscall" in cause)) return cause;
  const { code } = cause as NodeJS.ErrnoException;
  return new StartupError(
    code === "EADDRINUSE"
      ? `${setting}: port ${port} is in use by another process. Stop it, or set ${setting} to another one.`
      : `HOST, ${setting}: cannot listen on port ${port} of ${host} (${code}).`,
    { cause },
  );
}
