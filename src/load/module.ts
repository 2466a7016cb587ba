import type { BlockList } from "node:net";
import type { Config } from "../config.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { LoadMonitor } from "./load-monitor.ts";
import { MemoryBudget, memoryLimits } from "./memory-budget.ts";
import { RequestMemory } from "./request-memory.ts";

/** The services that protect this process from overload. */
export type LoadServices = {
  readonly load: {
    readonly memory: MemoryBudget;
    /** The memory leases of HTTP requests. */
    readonly requests: RequestMemory;
    readonly monitor: LoadMonitor;
  };
};

const MEBIBYTE = 1_048_576;

/** Creates the services of load. */
export function createLoadModule(
  config: Config,
  trustedProxies: BlockList,
  metrics: Metrics | undefined,
): LoadServices {
  const limits = memoryLimits(config.REQUEST_MEMORY_MIB * MEBIBYTE);
  const memory = new MemoryBudget(limits, () => metrics?.refused("memory"));
  const requests = new RequestMemory(memory, trustedProxies);
  const monitor = new LoadMonitor({ memory, maxEventLoopDelayMs: config.MAX_EVENT_LOOP_DELAY_MS });
  return { load: { memory, requests, monitor } };
}
