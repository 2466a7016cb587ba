import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { FastifyInstance } from "fastify";
import { StartupError } from "../src/kernel/errors.ts";
import { isSupervised } from "./processes.ts";

/** Where a process listens, and the setting that names the port. */
type Place = {
  readonly host: string;
  readonly port: number;
  readonly setting: "PORT" | "SUBGRAPH_PORT" | "METRICS_PORT";
  /** Whether other processes that share the port may listen on it too: a successor, or more instances. */
  readonly isShared?: boolean;
  /** The number of the process that uses a port of its own, from 0. */
  readonly process?: number;
};

/**
 * Throws a `StartupError` where `listenAt` would, before anything else starts. A shared port is not probed: the
 * probe could receive connections meant for the processes that listen there.
 */
export async function requireFreePort(place: Place): Promise<void> {
  if (place.port !== 0) await choosePort(place);
}

/** As `requireFreePort`, and resolves with the port: a free one if any may be used (0). */
export async function choosePort(place: Place): Promise<number> {
  const { host, port } = place;
  if (port !== 0 && isShared(place)) return port;
  const trial = createServer();
  try {
    trial.listen({ host, port });
    await once(trial, "listening");
  } catch (cause) {
    throw explained(cause, place);
  }
  const { port: chosen } = trial.address() as AddressInfo;
  trial.close();
  await once(trial, "close");
  return chosen;
}

/** Several processes of one command share their port, and have a metrics port each. */
function isShared({ setting, isShared: isWanted = false }: Place): boolean {
  return isWanted || (isSupervised && setting !== "METRICS_PORT");
}

/** Starts listening. Throws a `StartupError` that names the setting at fault when the address is unavailable. */
export async function listenAt(server: FastifyInstance, place: Place): Promise<void> {
  const { host, port } = place;
  try {
    // Fastify passes this on to Node, although its types do not declare it.
    await server.listen({ host, port, ...(isShared(place) && { reusePort: true }) });
  } catch (cause) {
    throw explained(cause, place);
  }
}

function explained(cause: unknown, { host, port, setting, process: number = 0 }: Place): unknown {
  if (!(cause instanceof Error && "syscall" in cause)) return cause;
  const { code } = cause as NodeJS.ErrnoException;
  return new StartupError(
    code === "EADDRINUSE"
      ? `${setting}: port ${port}${number > 0 ? ` of process ${number}` : ""} is in use by another process. Stop it, or set ${setting} to another one.`
      : `${setting === "METRICS_PORT" ? "METRICS_HOST" : "HOST"}, ${setting}: cannot listen on port ${port} of ${host} (${code}).`,
    { cause },
  );
}
