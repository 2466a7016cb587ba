import { setDefaultResultOrder } from "node:dns";
import { readConfig } from "../src/config.ts";
import { StartupError } from "../src/kernel/errors.ts";
import { createLogger } from "../src/kernel/log.ts";
import { startTraces } from "../src/metrics/trace-export.ts";
import { runOrExplain } from "./cli/run-or-explain.ts";
import { METRICS_HOST, requireFreePort } from "./listen.ts";
import type { Ends, Start } from "./roles/start.ts";
import { endGracefully } from "./shutdown.ts";

/**
 * The roles of a process: everything in one (`all`, the default), or one of several. A role is loaded on demand, so
 * that a process does not spend time and memory on the others.
 */
const ROLES: Readonly<Record<string, () => Promise<(start: Start) => Promise<void>>>> = {
  all: async () => (await import("./roles/all.ts")).startAll,
  gateway: async () => (await import("./roles/gateway.ts")).startGateway,
  subgraph: async () => (await import("./roles/subgraph.ts")).startSubgraph,
  worker: async () => (await import("./roles/worker.ts")).startWorker,
};

await runOrExplain(async () => {
  setDefaultResultOrder("ipv4first");
  const [role = "all", name = ""] = process.argv.slice(2);
  const load = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  if (!load) throw new StartupError(`There is no role ${role}: ${Object.keys(ROLES).join(", ")}.`);
  const config = readConfig();
  const log = createLogger(config.LOG_LEVEL);
  const ends: Ends = [];
  if (config.METRICS_PORT !== undefined)
    await requireFreePort({ host: METRICS_HOST, port: config.METRICS_PORT, setting: "METRICS_PORT" });
  // Printed before the role is loaded, which takes seconds.
  console.log(`zerograph is starting: ${[role, name].join(" ").trim()}, NETWORK=${config.NETWORK} ...`);
  const endTraces = await startTraces(config, serviceName(role, name));
  // Tracing started first, so it stops last.
  if (endTraces) ends.unshift(endTraces);
  try {
    await (await load())({ name, config, log, ends });
  } catch (error) {
    await endAll(ends);
    throw error;
  }
  endGracefully(() => endAll(ends), log);
});

function serviceName(role: string, name: string): string {
  return ["zerograph", role === "all" ? "" : role, name].filter((word) => word !== "").join("-");
}

async function endAll(ends: Ends): Promise<void> {
  for (const end of ends.splice(0)) await end().catch((error: unknown) => console.error(error));
}
