import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { slowness } from "./attack/event-loop.ts";

/**
 * A time in milliseconds that holds on an idle machine of two cores, made as much longer as this machine is slower at
 * this moment: by its processor's speed, and by the share of it that other processes leave. Takes about 50 ms of
 * processor time.
 */
export function scaled(ms: number): number {
  const [inLastMinute = 0] = loadavg();
  const runnable = Math.max(inLastMinute, runnableNow());
  return ms * slowness() * Math.max(1, runnable / availableParallelism());
}

/** How many threads run or wait for a processor at this moment, where the system tells: the average follows slowly. */
function runnableNow(): number {
  try {
    return Number(/ (\d+)\//.exec(readFileSync("/proc/loadavg", "utf8"))?.[1]);
  } catch {
    return 0;
  }
}
