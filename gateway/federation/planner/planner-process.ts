import { type ChildProcessByStdio, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { readLines } from "./lines.ts";
import type { PlannerReply, PlannerRequest } from "./planner-child.ts";

/** How a planner process ended, and the start of its standard error. */
export type PlannerExit = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
};

/** The callbacks of its owner. `onExit` is called once, and is the last call. */
export type PlannerProcessEvents = {
  readonly onReply: (reply: PlannerReply) => void;
  readonly onExit: (exit: PlannerExit) => void;
};

/** V8 needs little memory: the planner's own is allocated by Rust. */
const MAX_HEAP_MIB = 64;
/**
 * Private memory of the process, in KiB. Node reserves 580 MiB of it and uses 27; the rest is for plans. A process
 * that needs more aborts. A shell without this limit (macOS) sets none.
 */
const MAX_DATA_KIB = 1_310_720;
const LIMITED = `ulimit -d ${MAX_DATA_KIB} 2>/dev/null; exec "$0" "$@"`;
const MAX_STDERR_CHARACTERS = 4_096;

/**
 * One process that runs the Rust planner. Its environment is empty, as the planner needs no secret. It ends with this
 * process, and does not keep this process alive. Both exchange lines over pipes, in which a plan is written and parsed
 * once: over the channel of `fork`, messages took a seventh of the time for a new document.
 */
export class PlannerProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;

  constructor(load: Extract<PlannerRequest, { kind: "load" }>, { onReply, onExit }: PlannerProcessEvents) {
    const file = import.meta.url.endsWith(".ts") ? "./planner-child.ts" : "./planner-child.js";
    const path = fileURLToPath(new URL(file, import.meta.url));
    const args = ["-c", LIMITED, process.execPath, `--max-old-space-size=${MAX_HEAP_MIB}`, path];
    const child = spawn("/bin/sh", args, { env: {}, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      stderr = (stderr + part).slice(0, MAX_STDERR_CHARACTERS);
    });
    const end = once((code: number | null, signal: NodeJS.Signals | null) =>
      onExit({ code, signal, stderr: shorten(stderr) }),
    );
    readLines(child.stdout, (line) => onReply(JSON.parse(line) as PlannerReply));
    // An ended process closes its input, and its owner is notified by `onExit`.
    child.stdin.on("error", () => {});
    child.once("close", end);
    child.on("error", (error) => {
      stderr ||= error.message;
      // A process that failed to start never emits `close`.
      if (child.pid === undefined) end(null, null);
    });
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr])
      if (stream instanceof Socket) stream.unref();
    this.send(load);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** An ended process ignores this; its owner is notified by `onExit`. */
  send(request: PlannerRequest): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${JSON.stringify(request)}\n`);
  }

  /** Kills it at once, also when it is stopped or hangs. Until it ends, it keeps this process alive. */
  kill(): void {
    this.#child.ref();
    this.#child.kill("SIGKILL");
  }
}

/** Literals of an operation may be private, and panic messages quote them. */
function shorten(stderr: string): string {
  return stderr
    .replaceAll(/"(?:[^"\\]|\\.)*"?/g, '"…"')
    .trim()
    .slice(0, 500);
}

function once(run: (code: number | null, signal: NodeJS.Signals | null) => void): typeof run {
  let isDone = false;
  return (code, signal) => {
    if (isDone) return;
    isDone = true;
    run(code, signal);
  };
}
