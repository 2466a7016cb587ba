import { once } from "node:events";
import { createServer } from "node:net";
import type { FastifyInstance } from "fastify";
import { StartupError } from "../src/kernel/errors.ts";

/** Metrics are served to this machine only. */
export const METRICS_HOST = "127.0.0.1";

/** Where a process listens, and the setting that names the port. */
type Place = {
  readonly host: string;
  readonly port: number;
  readonly setting: "PORT" | "SUBGRAPH_PORT" | "METRICS_PORT";
  /** Whether other processes that share the port may listen on it too: a successor, or more instances. */
  readonly isShared?: boolean;
};

/**
 * Throws a `StartupError` where `listenAt` would, before anything else starts. A shared port is not probed: the
 * probe could receive connections meant for the processes that listen there.
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

/** Starts listening. Throws a `StartupError` that names the setting at fault when the address is unavailable. */
export async function listenAt(server: FastifyInstance, place: Place): Promise<void> {
  const { host, port, isShared = false } = place;
  try {
    // Fastify passes this on to Node, although its types do not declare it.
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
