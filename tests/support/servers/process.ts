import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { inject, onTestFinished } from "vitest";
import { requireNoSecret } from "../audit.ts";
import { until } from "../until.ts";
import type { OnEnd } from "./database.ts";

/** How a process ended: with an exit code, or by a signal. */
export type Ending = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** One of our processes, as `npm start` and similar commands run it. */
type RunningProcess = {
  readonly pid: number;
  /** Its output so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Waits for a match on standard output; throws the output when the process ends without. */
  saw(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves once it has ended. */
  readonly ended: Promise<Ending>;
  end(signal?: NodeJS.Signals): Promise<Ending>;
};

/** A serving process; `origin` is its address, empty for a worker. */
export type ReadyProcess = RunningProcess & { readonly origin: string };

/** What `npm start` runs: the sources. */
export const NPM_START = "gateway/main.ts";

/**
 * What to run, with these settings, `BUSY_MACHINE` and no others: the built product as deployed, unless another script
 * is named.
 */
export type ProcessOptions = {
  readonly script?: string;
  readonly args?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  /** Of Node; without it those for a process that lives for seconds. */
  readonly flags?: readonly string[];
  /** The working directory; without it the checkout's, and then without reading a `.env`. */
  readonly folder?: string;
  /** The checkout whose product it is, installed with its own packages; without it this one. */
  readonly checkout?: string;
  readonly onEnd?: OnEnd;
};

/** Load from other work on the machine does not count as overload. Tests of overload set their own limit. */
export const BUSY_MACHINE = { MAX_EVENT_LOOP_DELAY_MS: "60000" } as const;

const ADDRESS = /OpenAI clients {3}(http:\S+)\/v1|ready at (http:\S+)\/graphql|worker ready/;

/**
 * Processes of tests live for seconds: compiling WebAssembly once and moving young objects later saves a quarter of
 * what a start costs.
 */
const SHORT_LIVED = ["--liftoff-only", "--max-semi-space-size=32"];

/**
 * Starts a process on free ports, without this one's environment. It is killed, and its log searched for
 * secrets, when the test is finished.
 */
function startProcess(options: ProcessOptions = {}): RunningProcess {
  const {
    script = "dist/gateway/main.js",
    args = [],
    settings = {},
    flags = SHORT_LIVED,
    folder,
    checkout = ".",
    onEnd = onTestFinished as OnEnd,
  } = options;
  const loader = script.endsWith(".ts") ? ["--import", "tsx"] : [];
  const nodeArgs = [...flags, ...loader, resolve(checkout, script), ...args];
  const child = spawn(resolve(checkout, "scripts/node"), nodeArgs, {
    cwd: folder ?? checkout,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: process.env.TMPDIR,
      PORT: "0",
      SUBGRAPH_PORT: "0",
      ...BUSY_MACHINE,
      ...(folder === undefined && { ENV_FILE: "" }),
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stdout = gather(child.stdout);
  const stderr = gather(child.stderr);
  // "close" comes after the last output, "exit" may come before it.
  const ended = once(child, "close").then(([code, signal]): Ending => ({ code, signal }));
  const end = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (!isGone(child)) child.kill(signal);
    return ended;
  };
  onEnd(async () => {
    await end("SIGKILL");
    requireNoSecret(stderr(), "the log of a process");
  });
  return {
    pid: child.pid ?? 0,
    stdout,
    stderr,
    ended,
    end,
    async saw(pattern) {
      for (;;) {
        const seen = pattern.exec(stdout());
        if (seen) return seen;
        if (isGone(child)) throw new Error(`it ended, with the output:\n${stdout()}${stderr()}`);
        await Promise.race([once(child.stdout, "data"), ended]);
      }
    },
  };
}

/** Starts a process and waits until it serves. */
export async function startReady(options: ProcessOptions = {}): Promise<ReadyProcess> {
  await untilBuilt(options);
  const started = startProcess(options);
  const [, gateway, subgraph] = await started.saw(ADDRESS);
  return { ...started, origin: gateway ?? subgraph ?? "" };
}

/** Runs one of our scripts to its end. */
export async function runProcess(
  options: ProcessOptions,
): Promise<Ending & { stdout: string; stderr: string }> {
  await untilBuilt(options);
  const started = startProcess(options);
  const ending = await started.ended;
  return { ...ending, stdout: started.stdout(), stderr: started.stderr() };
}

/** Starts the product without waiting until it is ready, which it may never be. */
export async function startUnready(options: ProcessOptions): Promise<RunningProcess> {
  await untilBuilt(options);
  return startProcess(options);
}

/** Waits for the build of this test run. A benchmark has built before. */
async function untilBuilt({ script }: ProcessOptions): Promise<void> {
  if (script?.endsWith(".ts") || !process.env.VITEST) return;
  const result = inject("buildResult");
  if (!result) throw new Error("the built product runs only in projects that build it: see vitest.config.ts");
  await until(() => existsSync(result), 120_000);
  const failure = readFileSync(result, "utf8");
  if (failure) throw new Error(failure);
}

/** A new folder, removed with the test. */
export function newFolder(onEnd: OnEnd = onTestFinished as OnEnd): string {
  const folder = mkdtempSync(join(tmpdir(), "zerograph-"));
  onEnd(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** The process ids of the development chains that a process started. */
export async function chainsOf(pid: number): Promise<readonly number[]> {
  const all = await listProcesses();
  const parents = new Map(all.map((row) => [row.pid, row.parent]));
  // Between the two is the shell that ends the chain when our process is gone.
  return all.filter((row) => row.name === "anvil" && parents.get(row.parent) === pid).map((row) => row.pid);
}

/** The process ids of the programs that a process started. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  return (await listProcesses()).filter(({ parent }) => parent === pid).map((row) => row.pid);
}

/** Whether a process is running; a zombie that its parent has not yet collected is not. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await listProcesses()).some((row) => row.pid === pid && !row.state.startsWith("Z"));
}

async function listProcesses() {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,stat=,comm="]);
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, state, name] = line.trim().split(/\s+/);
    return state && name ? [{ pid: Number(pid), parent: Number(parent), state, name }] : [];
  });
}

function isGone({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function gather(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  return () => text;
}
