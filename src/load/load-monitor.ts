import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { MemoryBudget } from "./memory-budget.ts";

/** What the process has too much of. */
export type Overload = "event_loop" | "memory";

type Dependencies = {
  readonly memory: MemoryBudget;
  /** From this 99th percentile of the event-loop delay on, requests are refused. Milliseconds. */
  readonly maxEventLoopDelayMs: number;
};

const WINDOW_MS = 500;
/** So many windows in a row must be late: one long task, as when a module is loaded, is no overload. */
const LATE_WINDOWS = 3;
const RESOLUTION_MS = 10;
/** From here on memory is near its limit. The heap's limit is Node's own (`--max-old-space-size`). */
const BUDGET_NEAR_FULL = 0.95;
const HEAP_NEAR_FULL = 0.9;
/**
 * Below this use of one core the event loop is late because other processes have the machine: requests that are refused
 * would not bring it back.
 */
const OWN_CPU_SHARE = 0.4;
const NANOSECONDS_PER_MS = 1e6;

/**
 * Measures, twice a second, how late the event loop is and how much memory is left, and says whether requests should be
 * refused. Between `start` and `stop` it keeps one timer, which does not keep the process alive.
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

  /** Why new requests should be refused; undefined when they should not. */
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
    // A timer that fires every RESOLUTION_MS is what Node measures by: that time is not delay.
    this.#delayP99Ms = Math.max(0, this.#delay.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS);
    this.#delay.reset();
    const isLate = this.#delayP99Ms > this.#dependencies.maxEventLoopDelayMs && this.#isBusyItself();
    this.#lateWindows = isLate ? this.#lateWindows + 1 : 0;
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    if (used > HEAP_NEAR_FULL * limit) this.#overload = "memory";
    else this.#overload = this.#lateWindows >= LATE_WINDOWS ? "event_loop" : undefined;
    this.#cpu = process.cpuUsage();
    this.#sampledAtMs = performance.now();
  }

  #isBusyItself(): boolean {
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = performance.now() - this.#sampledAtMs;
    return (user + system) / 1_000 > OWN_CPU_SHARE * elapsedMs;
  }
}
