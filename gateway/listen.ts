import type { FastifyInstance } from "fastify";
import { StartupError } from "../src/kernel/errors.ts";

/** Where a process is to listen, and the setting that says the port. */
type Place = {
  readonly host: string;
  readonly port: number;
  readonly setting: "PORT" | "SUBGRAPH_PORT" | "METRICS_PORT";
  /** Whether others that share it too may listen there beside this process: its successor, or more of its kind. */
  readonly isShared?: boolean;
};

/** Begins to listen. Throws a `StartupError` that names the setting at fault when the address cannot be had. */
export async function listenAt(server: FastifyInstance, place: Place): Promise<void> {
  const { host, port, setting, isShared = false } = place;
  try {
    // Passed on to Node, though Fastify's types do not know it.
    await server.listen({ host, port, ...(isShared && { reusePort: true }) });
  } catch (cause) {
    if (!(cause instanceof Error && "syscall" in cause)) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartupError(
      code === "EADDRINUSE"
        ? `${setting}: port ${port} is in use by another process. Stop it, or set ${setting} to another one.`
        : `HOST, ${setting}: cannot listen on port ${port} of ${host} (${code}).`,
      { cause },
    );
  }
}
