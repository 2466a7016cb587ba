import { readFileSync, writeFileSync } from "node:fs";

/** The processor time of a process and its children so far, in milliseconds: Linux counts in hundredths of a second. */
export function cpuOf(pid: number): number {
  const times = familyOf(pid).map((member) => {
    const fields = readFileSync(`/proc/${member}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  });
  return times.reduce((sum, time) => sum + time, 0);
}

/** Forgets the peak resident memory of a process and its children: starting may take more than any load. */
export function resetPeakMemory(pid: number): void {
  for (const member of familyOf(pid)) writeFileSync(`/proc/${member}/clear_refs`, "5");
}

/** The peak resident memory of a process and of each of its children since `resetPeakMemory`, in MiB. */
export function peakMemoryOf(pid: number): readonly number[] {
  return familyOf(pid).map((member) => {
    const status = readFileSync(`/proc/${member}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1_024;
  });
}

function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return [pid, ...(children === "" ? [] : children.split(" ").map(Number))];
}
