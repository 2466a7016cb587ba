import { setDefaultResultOrder } from "node:dns";
import { type Config, likelyMisspellings, readConfig, readVariable } from "../src/config.ts";
import { endAll } from "../src/kernel/async/end-all.ts";
import { StartupError } from "../src/kernel/errors.ts";
import { createLogger } from "../src/kernel/log.ts";
import { startTraces } from "../src/metrics/trace-export.ts";
import { runOrExplain } from "./cli/run-or-explain.ts";
import { keepNewObjectsYoung } from "./garbage-collection.ts";
import { choosePort, requireFreePort } from "./listen.ts";
import { metricsPortsOf, portSettingOf, requirePossiblePorts } from "./ports.ts";
import { countProcesses, isSupervised, ProcessSupervisor, processNumber, reportReady } from "./processes.ts";
import type { Ends, Phase, Start } from "./roles/start.ts";
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

/** How often another free port is chosen in place of one of the metrics. */
const MAX_CHOICES = 100;

await runOrExplain(async () => {
  setDefaultResultOrder("ipv4first");
  keepNewObjectsYoung();
  const [role = "all", ...words] = process.argv.slice(2);
  const load = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  if (!load) throw new StartupError(`There is no role ${role}: ${Object.keys(ROLES).join(", ")}.`);
  const unknown = words[role === "subgraph" ? 1 : 0];
  if (unknown !== undefined) throw new StartupError(`${unknown} is not an argument of the role ${role}.`);
  const [name = ""] = words;
  const given = readConfig();
  const log = createLogger(given.LOG_LEVEL);
  if (!isSupervised)
    for (const mistake of likelyMisspellings())
      log.warn(`a variable of the environment may be misspelled: ${mistake}`);
  const count = countProcesses(given);
  requirePossiblePorts(role, given, count);
  if (count > 1 && !isSupervised) {
    const ports = metricsPortsOf(given, count);
    const requirePort = async (number: number) => {
      const port = ports[number];
      if (port !== undefined)
        await requireFreePort({ host: given.METRICS_HOST, port, setting: "METRICS_PORT", process: number });
    };
    for (const number of ports.keys()) await requirePort(number);
    const environment = await sharedPortOf(role, given, ports);
    const supervisor = new ProcessSupervisor({ count, environment, log, requirePort });
    endGracefully(() => supervisor.end(), log);
    return supervisor.start();
  }
  const config = { ...given, METRICS_PORT: given.METRICS_PORT && given.METRICS_PORT + processNumber };
  const ends: Ends = [];
  let phase: Phase = "starting";
  if (config.METRICS_PORT !== undefined)
    await requireFreePort({
      ...{ host: config.METRICS_HOST, port: config.METRICS_PORT, setting: "METRICS_PORT" },
      process: processNumber,
    });
  // Printed before the role is loaded, which takes seconds.
  if (processNumber === 0)
    console.log(`zerograph is starting: ${[role, name].join(" ").trim()}, NETWORK=${config.NETWORK} ...`);
  const endTraces = await startTraces(config, serviceName(role, name), { log, variable: readVariable });
  // Tracing started first, so it stops last.
  if (endTraces) ends.unshift(endTraces);
  // Before the start, which may wait for a migration: the first process of a container has no default end by a signal.
  endGracefully(() => {
    phase = "shutting down";
    return endNow(ends);
  }, log);
  const isEnding = () => phase === "shutting down";
  try {
    await (await load())({ name, config, log, ends, phase: () => phase });
  } catch (error) {
    // What a signal has closed fails a start that is in progress.
    if (isEnding()) return;
    await endNow(ends);
    throw error;
  }
  if (isEnding()) return endNow(ends);
  phase = "serving";
  reportReady();
});

/**
 * The port that several processes of a role share, as their environment: chosen here if any may be used, except those of
 * their metrics, on which they do not listen yet.
 */
async function sharedPortOf(
  role: string,
  config: Config,
  metricsPorts: readonly number[],
): Promise<Readonly<Record<string, string>>> {
  const setting = portSettingOf(role);
  if (!setting) return {};
  const place = {
    ...{ host: config.HOST, port: config[setting], setting },
    isShared: config.SHARE_PORT === "on",
  };
  let port = await choosePort(place);
  for (let n = 0; n < MAX_CHOICES && place.port === 0 && metricsPorts.includes(port); n++)
    port = await choosePort(place);
  return { [setting]: String(port) };
}

function serviceName(role: string, name: string): string {
  return ["zerograph", role === "all" ? "" : role, name].filter((word) => word !== "").join("-");
}

function endNow(ends: Ends): Promise<void> {
  return endAll(ends.splice(0), (error) => console.error(error));
}
