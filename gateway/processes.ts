import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { type Config, childEnvironment, readVariable } from "../src/config.ts";
import type { Logger } from "../src/kernel/log.ts";

/** What a process sends to its supervisor once it serves. */
const READY = "ready";
/** The variable with the number of a supervised process, from 0. */
const NUMBER = "ZEROGRAPH_PROCESS";
/** The pause before a process that ended is replaced. It doubles while the process does not serve. */
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** The number of processes that serve one port: PROCESSES, or as many as there are processors. */
export function countProcesses({ PROCESSES }: Pick<Config, "PROCESSES">): number {
  return PROCESSES === "auto" ? availableParallelism() : PROCESSES;
}

/** Whether this process has a supervisor, which has chosen its port and forwards the signals to end. */
export const isSupervised = readVariable(NUMBER) !== undefined && process.connected === true;

/** The number of this process among those of its supervisor, from 0; 0 without a supervisor. */
export const processNumber = isSupervised ? Number(readVariable(NUMBER)) : 0;

/** Reports to the supervisor, if there is one, that this process serves. */
export function reportReady(): void {
  if (isSupervised) process.send?.(READY);
}

/**
 * Runs this program in several processes that share a port: each opens it by itself, and the kernel gives each of them
 * a share of the connections (`SO_REUSEPORT`). The first starts alone, so that a start that cannot succeed fails only
 * once. A process that ends by itself is replaced, as soon as its own port is free. If this process is killed, the others
 * end by themselves.
 */
export class ProcessSupervisor {
  readonly #count: number;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #log: Logger;
  readonly #requirePort: (number: number) => Promise<void>;
  readonly #running = new Map<number, ChildProcess>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The numbers of the processes that have served. */
  readonly #ready = new Set<number>();
  readonly #pauses = new Map<number, number>();
  /** The numbers of the processes whose port another program uses. */
  readonly #blocked = new Set<number>();
  #isEnding = false;

  /**
   * The processes get this environment in addition to that of this process. `requirePort` throws if the port that a
   * process does not share is in use.
   */
  constructor(options: {
    readonly count: number;
    readonly environment: Readonly<Record<string, string>>;
    readonly log: Logger;
    readonly requirePort: (number: number) => Promise<void>;
  }) {
    this.#count = options.count;
    this.#environment = options.environment;
    this.#log = options.log;
    this.#requirePort = options.requirePort;
  }

  /** Resolves when the first process serves, and the others start. If it cannot start, exits with its status. */
  async start(): Promise<void> {
    const first = this.#fork(0);
    const [outcome] = await Promise.race([once(first, "message"), once(first, "exit")]);
    if (this.#isEnding) return;
    // It has said why.
    if (outcome !== READY) process.exit(Number(outcome) || 1);
    for (let number = 1; number < this.#count && !this.#isEnding; number++) this.#fork(number);
  }

  /** Ends all processes: each finishes what it is doing. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const ended = [...this.#running.values()].map((child) => once(child, "exit"));
    for (const child of this.#running.values()) child.kill("SIGTERM");
    await Promise.all(ended);
  }

  #fork(number: number): ChildProcess {
    const [, file = "", ...given] = process.argv;
    const env = childEnvironment({ ...this.#environment, [NUMBER]: String(number) });
    const child = fork(file, given, { env });
    this.#running.set(number, child);
    child.once("message", () => {
      this.#pauses.delete(number);
      const wasReady = this.#ready.has(number);
      this.#ready.add(number);
      if (!wasReady && this.#ready.size === this.#count) console.log(`${this.#count} processes are ready`);
    });
    child.once("exit", (code, signal) => {
      this.#running.delete(number);
      if (this.#isEnding || this.#ready.size === 0) return;
      this.#log.error({ process: number, code, signal }, "a process ended by itself and is replaced");
      this.#replaceLater(number);
    });
    return child;
  }

  #replaceLater(number: number): void {
    const pauseMs = this.#pauses.get(number) ?? MIN_PAUSE_MS;
    this.#pauses.set(number, Math.min(2 * pauseMs, MAX_PAUSE_MS));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#replace(number);
    }, pauseMs);
    this.#timers.add(timer);
  }

  async #replace(number: number): Promise<void> {
    const failure = await this.#requirePort(number).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    if (this.#isEnding) return;
    if (!failure) {
      this.#blocked.delete(number);
      this.#fork(number);
      return;
    }
    // Logged once: the port may stay in use for long.
    if (!this.#blocked.has(number))
      this.#log.error(
        { process: number, reason: failure.message },
        "a process is not replaced until its port is free; the others serve",
      );
    this.#blocked.add(number);
    this.#replaceLater(number);
  }
}
