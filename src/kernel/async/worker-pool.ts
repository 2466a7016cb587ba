import { Worker } from "node:worker_threads";
import { AppError } from "../errors.ts";

/** A worker's answer to a task: its result, or its failure. */
export type WorkerAnswer<Result> = { readonly result: Result } | { readonly failure: WorkerFailure };
/** A failure that is passed between threads: one of the catalogue, or the text of a bug. */
export type WorkerFailure =
  | {
      readonly kind: "expected";
      readonly code: AppError["code"];
      readonly message: string;
      readonly param: string | null;
    }
  | { readonly kind: "bug"; readonly message: string };

type Options = {
  /** The module of the worker: TypeScript that Node can run directly, or JavaScript. */
  readonly file: URL;
  readonly threads: number;
  /** A task that holds more is long: one thread is left to shorter ones, which do not wait for it. */
  readonly longBytes: number;
  /** Bytes that all running and waiting tasks may hold together before a task that need not wait is refused. */
  readonly maxBytes: number;
  /**
   * How long a task may wait, and how much processor time of its thread it may use, milliseconds. On a busy machine it
   * may run up to six times as long.
   */
  readonly deadlineMs: number;
  /** Idle time after which the threads end, as each holds its modules in memory, milliseconds. */
  readonly idleMs: number;
};

/** How many deadlines a running task, or one that must wait, may pass before it is given up, however little processor time it used. */
const MAX_DEADLINES = 6;

type Job<Result> = {
  readonly task: object;
  readonly mustWait: boolean;
  readonly transfer: readonly ArrayBuffer[];
  readonly isLong: boolean;
  readonly done: PromiseWithResolvers<Result>;
  deadline?: NodeJS.Timeout;
  thread?: Thread<Result>;
  deadlines: number;
  isOver: boolean;
};

/**
 * Runs tasks on worker threads, one at a time each, so that the event loop stays free. Threads start with the first
 * task, end when idle, and do not keep the process alive. A task past its deadline terminates its thread.
 */
export class WorkerPool<Result> {
  readonly #options: Options;
  readonly #threads = new Set<Thread<Result>>();
  readonly #waiting: Job<Result>[] = [];
  #bytes = 0;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The current number of threads. */
  get threads(): number {
    return this.#threads.size;
  }

  /**
   * Runs a task that holds `sizeBytes`, and transfers the buffers in `transfer` to the thread. Throws what the task
   * throws, and `unavailable` if too much is waiting, the deadline passes, or the pool is closed. A task that `mustWait`
   * waits however much is waiting, for six deadlines.
   */
  async run(
    task: object,
    sizeBytes: number,
    transfer: readonly ArrayBuffer[] = [],
    { mustWait = false }: { readonly mustWait?: boolean } = {},
  ): Promise<Result> {
    const { maxBytes, deadlineMs, longBytes } = this.#options;
    if (this.#closed) throw closed();
    if (!mustWait && this.#bytes > 0 && this.#bytes + sizeBytes > maxBytes) throw busy();
    const done = Promise.withResolvers<Result>();
    const job: Job<Result> = {
      ...{ task, mustWait, transfer, done, deadlines: 0, isOver: false },
      isLong: sizeBytes > longBytes,
    };
    clearTimeout(this.#idle);
    this.#bytes += sizeBytes;
    job.deadline = setTimeout(() => void this.#checkDeadline(job, deadlineMs), deadlineMs).unref();
    this.#waiting.push(job);
    this.#hand();
    try {
      return await done.promise;
    } finally {
      job.isOver = true;
      clearTimeout(job.deadline);
      this.#bytes -= sizeBytes;
    }
  }

  /** Ends all threads. Running and waiting tasks fail with `unavailable`. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    for (const { done } of this.#waiting.splice(0)) done.reject(closed());
    await Promise.all([...this.#threads].map((thread) => thread.stop(closed())));
  }

  #hand(): void {
    while (!this.#closed) {
      const at = this.#nextAt();
      const thread = at === -1 ? undefined : this.#freeThread();
      const [job] = thread ? this.#waiting.splice(at, 1) : [];
      if (!thread || !job) return;
      job.thread = thread;
      job.deadlines = 0;
      thread.run(job);
    }
  }

  /** The place of the task that is next: the first one, or the first short one while long ones have all their threads. */
  #nextAt(): number {
    const long = [...this.#threads].filter(({ runsLong }) => runsLong).length;
    const mayBeLong = long < Math.max(1, this.#options.threads - 1);
    return this.#waiting.findIndex(({ isLong }) => mayBeLong || !isLong);
  }

  #freeThread(): Thread<Result> | undefined {
    for (const thread of this.#threads) if (!thread.isBusy) return thread;
    if (this.#threads.size >= this.#options.threads) return undefined;
    const thread = new Thread<Result>(this.#options.file, {
      freed: () => {
        this.#hand();
        this.#rest();
      },
      ended: () => {
        this.#threads.delete(thread);
        this.#hand();
      },
    });
    this.#threads.add(thread);
    return thread;
  }

  /** Ends the threads unless a task arrives within the idle time. */
  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#closed || [...this.#threads].some(({ isBusy }) => isBusy)) return;
    const end = () => {
      for (const thread of this.#threads) void thread.stop(closed());
    };
    this.#idle = setTimeout(end, this.#options.idleMs).unref();
  }

  /** Gives up a task at its deadline, unless its thread has used less processor time than that on a busy machine. */
  async #checkDeadline(job: Job<Result>, deadlineMs: number): Promise<void> {
    const { thread, mustWait } = job;
    const mayGoOn = (thread !== undefined || mustWait) && ++job.deadlines < MAX_DEADLINES;
    const leftMs = mayGoOn ? deadlineMs - ((await thread?.usedMs()) ?? 0) : 0;
    // It may have ended while the processor time was read.
    if (job.isOver) return;
    if (leftMs <= 0) this.#giveUp(job);
    else job.deadline = setTimeout(() => void this.#checkDeadline(job, deadlineMs), leftMs).unref();
  }

  #giveUp(job: Job<Result>): void {
    const at = this.#waiting.indexOf(job);
    if (at >= 0) this.#waiting.splice(at, 1);
    job.done.reject(busy());
    void job.thread?.stop(busy());
  }
}

class Thread<Result> {
  readonly #worker: Worker;
  #job: Job<Result> | undefined;
  /** Its processor time when the current task began. */
  #usedBefore: Promise<number> = Promise.resolve(0);
  #isStopping = false;

  constructor(file: URL, { freed, ended }: { readonly freed: () => void; readonly ended: () => void }) {
    // Without the parent's flags a thread starts in a tenth of the time.
    this.#worker = new Worker(file, { execArgv: [] });
    this.#worker.on("message", (answer: WorkerAnswer<Result>) => {
      const job = this.#job;
      this.#job = undefined;
      this.#worker.unref();
      if ("result" in answer) job?.done.resolve(answer.result);
      else job?.done.reject(toError(answer.failure));
      freed();
    });
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => {
      this.#fail(new Error("a worker thread ended"));
      ended();
    });
    this.#worker.unref();
  }

  get isBusy(): boolean {
    return this.#isStopping || this.#job !== undefined;
  }

  get runsLong(): boolean {
    return this.#job?.isLong === true;
  }

  run(job: Job<Result>): void {
    this.#job = job;
    this.#worker.ref();
    this.#worker.postMessage(job.task, job.transfer);
    this.#usedBefore = this.#cpuMs().catch(() => 0);
  }

  /** The processor time that the current task has used, milliseconds; infinite if the thread is ending. */
  async usedMs(): Promise<number> {
    const before = await this.#usedBefore;
    return this.#cpuMs().then(
      (ms) => ms - before,
      () => Number.POSITIVE_INFINITY,
    );
  }

  async #cpuMs(): Promise<number> {
    const { user, system } = await this.#worker.cpuUsage();
    return (user + system) / 1_000;
  }

  async stop(reason: AppError): Promise<void> {
    this.#isStopping = true;
    this.#fail(reason);
    await this.#worker.terminate();
  }

  #fail(reason: unknown): void {
    this.#job?.done.reject(reason);
  }
}

/** Serializes a failure for another thread. */
export function toWorkerFailure(error: unknown): WorkerFailure {
  if (error instanceof AppError)
    return { kind: "expected", code: error.code, message: error.message, param: error.param };
  return { kind: "bug", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

function toError(failure: WorkerFailure): Error {
  if (failure.kind === "bug") return new Error(failure.message);
  const { code, message, param } = failure;
  return new AppError(code, message, param === null ? {} : { param });
}

function busy(): AppError {
  return new AppError("unavailable", "Too many long requests are being read. Try again.", {
    retryAfterSeconds: 1,
  });
}

function closed(): AppError {
  return new AppError("unavailable", "Closing down.");
}
