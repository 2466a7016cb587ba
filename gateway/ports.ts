import { isIP, isIPv4 } from "node:net";
import type { Config } from "../src/config.ts";
import { StartupError } from "../src/kernel/errors.ts";

type Ports = Pick<Config, "HOST" | "PORT" | "SUBGRAPH_PORT" | "METRICS_HOST" | "METRICS_PORT">;

const LAST_PORT = 65_535;

/** The setting of the port that clients of a role use; undefined for a worker, which has none. */
export function portSettingOf(role: string): "PORT" | "SUBGRAPH_PORT" | undefined {
  return role === "worker" ? undefined : role === "subgraph" ? "SUBGRAPH_PORT" : "PORT";
}

/** The metrics ports of so many processes, in their order; empty if there are none, or if each takes a free one. */
export function metricsPortsOf(
  { METRICS_PORT: first }: Pick<Config, "METRICS_PORT">,
  count: number,
): number[] {
  return first ? Array.from({ length: count }, (_, number) => first + number) : [];
}

/** Throws a `StartupError` if the processes of a command need a port that does not exist, or one for two purposes. */
export function requirePossiblePorts(role: string, config: Ports, count: number): void {
  const ports = metricsPortsOf(config, count);
  const [first, last = 0] = [ports[0], ports.at(-1)];
  const need = `METRICS_PORT: ${count} processes need the ports ${first} to ${last}`;
  if (last > LAST_PORT)
    throw new StartupError(
      `${need}, but the last port is ${LAST_PORT}. Set METRICS_PORT to at most ${LAST_PORT - count + 1}.`,
    );
  const setting = portSettingOf(role);
  if (!setting || !ports.includes(config[setting]) || !mayOverlap(config.HOST, config.METRICS_HOST)) return;
  const clash = `${setting} is ${config[setting]}`;
  throw new StartupError(
    count === 1
      ? `METRICS_PORT: ${clash} too. Set METRICS_PORT to another port.`
      : `${need}, but ${clash}. Set METRICS_PORT so that none of its ports is ${setting}.`,
  );
}

/** Whether listening on one address may exclude the other. Only IP addresses can be compared by their text. */
function mayOverlap(one: string, other: string): boolean {
  const both = [one, other];
  if (one === other || both.includes("::") || both.some((host) => isIP(host) === 0)) return true;
  return both.includes("0.0.0.0") && both.every(isIPv4);
}
