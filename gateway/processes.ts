import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { type Config, readVariable } from "../src/config.ts";
import type { Logger } from "../src/kernel/log.ts";

/** What a process sends to its supervisor once it serves. */
const READY = "ready";
/** The variable with the number of a supervised process, from 0. */
const NUMBER = "ZEROGRAPH_PROCESS";
/** The pause before a process that ended is replaced; it doubles while processes end before they serve. */
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** The number of processes that serve one port: PROCESSES, or as many as there are processors. */
export function countProcesses({ PROCESSES }: Pick<Config, "PROCESSES">): number {
  return PROCESSES === "auto" ? availableParallelism() : PROCESSES;
}

/** The number of this process among those of its supervisor, from 0; 0 without a supervisor. */
export function processNumber(): number {
  return isSupervised ? Number(readVariable(NUMBER) ?? 0) : 0;
}

/** Whether this process has a supervisor, which opens its port and forwards the signals to end. */
export const isSupervised = cluster.isWorker;

/** Reports to the supervisor, if there is one, that this process serves. */
export function reportReady(): void {
  if (isSupervised) process.send?.(READY);
}

/**
 * Runs this program in several processes that share one port: Node's cluster module opens the port in this process and
 * gives each connection to one of them. The first starts alone, so that a start that cannot succeed is refused once. A
 * process that ends by itself is replaced. If this process ends by force, the others end at once.
 */
export class ProcessSupervisor {
  readonly #count: number;
  readonly #log: Logger;
  readonly #workers = new Map<number, Worker>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The numbers of the processes that have served. */
  readonly #ready = new Set<number>();
  #pauseMs = MIN_PAUSE_MS;
  #isEnding = false;

  constructor(count: number, log: Logger) {
    this.#count = count;
    this.#log = log;
  }

  /** Resolves when the first process serves, and the others start. If it cannot start, exits with its status. */
  async start(): Promise<void> {
    const first = this.#fork(0);
    const [outcome] = await Promise.race([once(first, "message"), once(first, "exit")]);
    // It has said why.
    if (outcome !== READY) process.exit(Number(outcome) || 1);
    for (let number = 1; number < this.#count; number++) this.#fork(number);
  }

  /** Ends all processes: each finishes what it is doing. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const ended = [...this.#workers.values()].map((worker) => once(worker, "exit"));
    for (const worker of this.#workers.values()) worker.process.kill("SIGTERM");
    await Promise.all(ended);
  }

  #fork(number: number): Worker {
    const worker = cluster.fork({ [NUMBER]: String(number) });
    this.#workers.set(number, worker);
    let isReady = false;
    worker.once("message", () => {
      isReady = true;
      this.#pauseMs = MIN_PAUSE_MS;
      const wasReady = this.#ready.has(number);
      this.#ready.add(number);
      if (!wasReady && this.#ready.size === this.#count) console.log(`${this.#count} processes are ready`);
    });
    worker.once("exit", (code, signal) => {
      this.#workers.delete(number);
      if (this.#isEnding || this.#ready.size === 0) return;
      this.#log.error({ process: number, code, signal }, "a process ended by itself and is replaced");
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#fork(number);
      }, this.#pauseMs);
      this.#timers.add(timer);
      if (!isReady) this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    });
    return worker;
  }
}
