import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { MemoryBudget } from "./memory-budget.ts";

/** The resource that is overloaded. */
export type Overload = "event_loop" | "memory";

type Dependencies = {
  readonly memory: MemoryBudget;
  /** The 99th percentile of the event-loop delay from which on requests are rejected, milliseconds. */
  readonly maxEventLoopDelayMs: number;
};

const WINDOW_MS = 500;
/** Consecutive late windows that count as overload: a single long task, such as loading a module, does not. */
const LATE_WINDOWS = 3;
const RESOLUTION_MS = 10;
/** The shares from which on memory is near its limit. The heap limit is Node's (`--max-old-space-size`). */
const BUDGET_NEAR_FULL = 0.95;
const HEAP_NEAR_FULL = 0.9;
/**
 * Below this use of one core the event loop is late because other processes use the machine: rejecting requests would
 * not help.
 */
const OWN_CPU_SHARE = 0.4;
const NANOSECONDS_PER_MS = 1e6;

/**
 * Measures the event-loop delay and the free memory twice a second, and decides whether requests should be rejected.
 * Between `start` and `stop` it has one timer, which does not keep the process alive.
 */
export class LoadMonitor {
  readonly #dependencies: Dependencies;
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #timer: NodeJS.Timeout | undefined;
  #cpu = process.cpuUsage();
  #sampledAtMs = performance.now();
  #delayP99Ms = 0;
  #lateWindows = 0;
  #overload: Overload | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Why new requests should be rejected; undefined if they should not. */
  get overload(): Overload | undefined {
    if (this.#dependencies.memory.usedShare >= BUDGET_NEAR_FULL) return "memory";
    return this.#overload;
  }

  /** The 99th percentile of the event-loop delay in the last half second, milliseconds. */
  get delayP99Ms(): number {
    return this.#delayP99Ms;
  }

  start(): void {
    this.#delay.enable();
    this.#delay.reset();
    this.#timer ??= setInterval(() => this.#sample(), WINDOW_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#delay.disable();
  }

  #sample(): void {
    // Node measures with a timer that fires every RESOLUTION_MS: that time is not delay.
    this.#delayP99Ms = Math.max(0, this.#delay.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS);
    this.#delay.reset();
    const isLate = this.#delayP99Ms > this.#dependencies.maxEventLoopDelayMs && this.#isCpuBound();
    this.#lateWindows = isLate ? this.#lateWindows + 1 : 0;
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    if (used > HEAP_NEAR_FULL * limit) this.#overload = "memory";
    else this.#overload = this.#lateWindows >= LATE_WINDOWS ? "event_loop" : undefined;
    this.#cpu = process.cpuUsage();
    this.#sampledAtMs = performance.now();
  }

  #isCpuBound(): boolean {
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = performance.now() - this.#sampledAtMs;
    return (user + system) / 1_000 > OWN_CPU_SHARE * elapsedMs;
  }
}
