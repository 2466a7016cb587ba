import { Worker } from "node:worker_threads";
import type { PostgresOptions, PostgresSession } from "./postgres.ts";
import type { WorkerAnswer, WorkerRequest } from "./postgres-worker.ts";

/**
 * An embedded PostgreSQL on a thread of its own, so that no statement holds up the event loop. The thread keeps the
 * process alive only while requests wait for it. When it ends, they fail with `ECONNRESET`, as on a broken connection.
 */
export class PostgresThread implements PostgresSession {
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];
  #hasEnded = false;

  private constructor(options: PostgresOptions) {
    // Plain TypeScript that Node runs by itself: without flags of ours a thread starts in a tenth of the time.
    const file = import.meta.url.endsWith(".ts") ? "./postgres-worker.ts" : "./postgres-worker.js";
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: options, execArgv: [] });
    this.#worker.on("message", (answer: WorkerAnswer) => this.#receive(answer));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end());
  }

  /** Starts the thread and resolves when its database is open. Throws why it cannot be opened. */
  static async open(options: PostgresOptions): Promise<PostgresThread> {
    const thread = new PostgresThread(options);
    try {
      await thread.#nextAnswer();
      return thread;
    } catch (error) {
      await thread.kill();
      throw error;
    }
  }

  /** Whether the thread is gone, so that another one may open its folder. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async exchange(messages: Uint8Array): Promise<Uint8Array> {
    return (await this.#request(messages)) as Uint8Array;
  }

  async close(): Promise<void> {
    if (!this.#hasEnded) await this.#request("close");
    await this.kill();
  }

  /** Ends the thread in the middle of a statement. Its folder is left as after a crash: recovered when it is opened. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  #request(request: WorkerRequest): Promise<unknown> {
    if (this.#hasEnded) return Promise.reject(connectionReset());
    this.#worker.postMessage(request);
    return this.#nextAnswer();
  }

  #nextAnswer(): Promise<unknown> {
    if (this.#waiting.length === 0) this.#worker.ref();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #receive(answer: WorkerAnswer): void {
    const request = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#worker.unref();
    if (typeof answer === "object" && "failure" in answer) request?.reject(answer.failure);
    else request?.resolve(answer);
  }

  #end(cause?: unknown): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.splice(0)) reject(connectionReset(cause));
  }
}

type Waiting = { resolve(answer: unknown): void; reject(reason: unknown): void };

function connectionReset(cause?: unknown): Error {
  const error = new Error("The thread of the embedded database ended.", { cause });
  return Object.assign(error, { code: "ECONNRESET" });
}
