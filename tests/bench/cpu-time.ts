import { existsSync, readFileSync } from "node:fs";

const TICKS_PER_MS = 0.1;

/** User and system time of these processes so far, milliseconds; none for those that have ended. */
export function cpuMs(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const file = `/proc/${pid}/stat`;
    const fields = existsSync(file) ? (readFileSync(file, "utf8").split(") ")[1]?.split(" ") ?? []) : [];
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  });
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_MS;
}
