import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ENDED } from "./guard-run.ts";

/** The test runner's own child, which it ends after everything else. */
const WATCHDOG = "vitest-watchdog";

const PATIENCE_MS = 10_000;
const POLL_MS = 50;

type Process = { readonly pid: number; readonly parent: number; readonly command: string };

/**
 * Waits for the end of the process that started it, whose only sign is the end of its input: the kernel closes that
 * pipe however the process ends. Then kills what that run left and removes its folder. On a normal end it first waits
 * for what is just ending, and prints what it had to kill.
 *
 * Arguments: the folder, and the process id of the run.
 */
async function reap(folder: string, run: number): Promise<void> {
  const wasEnded = (await readInput()) === ENDED;
  const find = () =>
    processesOf(folder).filter(({ pid, command }) => pid !== run && !command.startsWith(WATCHDOG));
  const deadlineMs = performance.now() + PATIENCE_MS;
  if (wasEnded) {
    while (find().length > 0 && performance.now() < deadlineMs) await sleep(POLL_MS);
    for (const { pid, command } of find()) console.log(`${pid} ${command}`);
  }
  for (let round = 0; round < PATIENCE_MS / POLL_MS; round++) {
    const left = find();
    if (left.length === 0) break;
    for (const { pid } of left) kill(pid);
    await sleep(POLL_MS);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

async function readInput(): Promise<string> {
  let text = "";
  for await (const part of process.stdin.setEncoding("utf8")) text += part;
  return text;
}

/**
 * The processes whose TMPDIR is the folder, or that work inside it: a server that shows its state in its title, as
 * Redis does, has overwritten its environment. Needs /proc: elsewhere nothing is found.
 */
function processesOf(folder: string): readonly Process[] {
  return processIds().flatMap((pid) => {
    try {
      const isInside = readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`);
      const environment = isInside ? [] : readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      if (!isInside && !environment.includes(`TMPDIR=${folder}`)) return [];
      // The second field is the name in brackets, which may contain spaces; then come state and parent.
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      if (state === "Z") return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 200);
      return [{ pid, parent: Number(parent), command }];
    } catch {
      // It has ended, or belongs to another user.
      return [];
    }
  });
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

const [, , folder = "", run = ""] = process.argv;
await reap(folder, Number(run));
