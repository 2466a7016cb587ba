import { readdirSync, readFileSync } from "node:fs";

/** A process of this machine. `cpuMs` includes the children that it has waited for. */
export type ProcessRow = {
  readonly pid: number;
  readonly parent: number;
  readonly cpuMs: number;
  readonly residentBytes: number;
};

/** The kernel's units, which are the same on all Linux machines in use. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

/** All processes of this machine. */
export function listProcesses(): readonly ProcessRow[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []));
}

/** A process and all that it started, itself first. Empty if it has ended. */
export function treeOf(all: readonly ProcessRow[], pid: number): readonly ProcessRow[] {
  const own = all.filter((row) => row.pid === pid);
  return [...own, ...all.filter(({ parent }) => parent === pid).flatMap((child) => treeOf(all, child.pid))];
}

/** The open file descriptors of a process. */
export function countDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function readProcess(pid: number): readonly ProcessRow[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the name, is in parentheses and may contain spaces.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (field: number) => Number(fields[field - 3]);
    const cpuMs = (at(14) + at(15) + at(16) + at(17)) * TICK_MS;
    return [{ pid, parent: at(4), cpuMs, residentBytes: at(24) * PAGE_BYTES }];
  } catch {
    // It ended meanwhile.
    return [];
  }
}
