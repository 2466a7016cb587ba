import { Worker } from "node:worker_threads";
import type { PostgresOptions, PostgresSession } from "./postgres.ts";
import type { WorkerAnswer, WorkerRequest } from "./postgres-worker.ts";

/**
 * An embedded PostgreSQL on a worker thread, so that no statement blocks the event loop. The thread keeps the process
 * alive only while requests are pending. When it ends, they fail with `ECONNRESET`, as on a broken connection.
 */
export class PostgresThread implements PostgresSession {
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];
  #hasEnded = false;

  /** Starts the thread, which opens the database: see `opened`. */
  constructor(options: PostgresOptions) {
    // TypeScript that Node can run directly: without the parent's flags a thread starts in a tenth of the time.
    const file = import.meta.url.endsWith(".ts") ? "./postgres-worker.ts" : "./postgres-worker.js";
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: options, execArgv: [] });
    this.#worker.on("message", (answer: WorkerAnswer) => this.#receive(answer));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end());
  }

  /** Resolves once, when the database is open. Throws the error of opening it. */
  async opened(): Promise<void> {
    try {
      await this.#nextAnswer();
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** Whether the thread has ended, so that another one may open its folder. */
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

  /**
   * Terminates the thread, even during a statement. Its folder is left as after a crash and recovered when reopened.
   */
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
