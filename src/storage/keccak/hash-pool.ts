import { Worker } from "node:worker_threads";
import { AppError } from "../../kernel/errors.ts";
import type { HashAnswer, HashTask } from "./hash-worker.ts";
import { CHUNK_BYTES, type Keccak, MAX_LEAVES } from "./keccak.ts";

/** Smaller inputs are hashed inline, bytes: a thread costs more than their 30 µs of hashing. */
const INLINE_BYTES = 16_384;
/** Segments assigned to one thread at once: one being hashed, one queued. */
const SLOTS = 2;
const SLOT_BYTES = MAX_LEAVES * CHUNK_BYTES;
/** Segments that may wait for a thread; each retains 256 KiB of its caller. */
const MAX_WAITING = 4_096;

/**
 * Hashes segments on worker threads, so that the event loop stays free. Threads start with the first large segment, and
 * do not keep the process alive. A segment is copied into memory shared with its thread (25 µs); the caller keeps its
 * buffer.
 */
export class HashPool {
  readonly #keccak: Keccak;
  readonly #size: number;
  readonly #threads: HashThread[] = [];
  readonly #waiting: Job[] = [];
  #closed = false;

  constructor({ keccak, threads }: { readonly keccak: Keccak; readonly threads: number }) {
    this.#keccak = keccak;
    this.#size = threads;
  }

  /** Like `Keccak.rootOfChunks`. Throws `unavailable` when 4,096 segments wait, or the pool is closed. */
  async rootOfChunks(data: Uint8Array, leaves: number): Promise<Uint8Array> {
    if (data.length <= INLINE_BYTES) return this.#keccak.rootOfChunks(data, leaves);
    if (data.length > SLOT_BYTES || leaves > MAX_LEAVES)
      throw new RangeError(`${data.length} bytes in ${leaves} chunks`);
    if (this.#closed || this.#waiting.length >= MAX_WAITING)
      throw new AppError("unavailable", "Too many segments are waiting to be verified.");
    return new Promise((resolve, reject) => {
      this.#waiting.push({ data, leaves, resolve, reject });
      this.#dispatch();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new AppError("unavailable", "Shutting down."));
    await Promise.all(this.#threads.splice(0).map((thread) => thread.stop()));
  }

  /** Assigns waiting segments to the least busy threads. */
  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      const job = thread && this.#waiting.shift();
      if (!thread || !job) return;
      thread.run(job);
    }
  }

  #freeThread(): HashThread | undefined {
    const idle = this.#threads.find(({ busy }) => busy === 0);
    if (idle) return idle;
    if (this.#threads.length < this.#size) {
      const thread = new HashThread({
        freed: () => this.#dispatch(),
        died: () => {
          const at = this.#threads.indexOf(thread);
          if (at >= 0) this.#threads.splice(at, 1);
          // Segments that wait would otherwise be hashed only after the next one arrives.
          this.#dispatch();
        },
      });
      this.#threads.push(thread);
      return thread;
    }
    return this.#threads.find(({ busy }) => busy < SLOTS);
  }
}

type Job = {
  readonly data: Uint8Array;
  readonly leaves: number;
  resolve(root: Uint8Array): void;
  reject(reason: unknown): void;
};

class HashThread {
  readonly #worker: Worker;
  readonly #memory: Uint8Array;
  readonly #jobs = new Map<number, Job>();

  constructor({ freed, died }: { readonly freed: () => void; readonly died: () => void }) {
    const shared = new SharedArrayBuffer(SLOTS * SLOT_BYTES);
    this.#memory = new Uint8Array(shared);
    // Node runs the worker's TypeScript natively: without our flags it starts in a tenth of the time.
    const file = import.meta.url.endsWith(".ts") ? "./hash-worker.ts" : "./hash-worker.js";
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: shared, execArgv: [] });
    this.#worker.on("message", ({ slot, root }: HashAnswer) => {
      const job = this.#jobs.get(slot);
      this.#jobs.delete(slot);
      if (this.#jobs.size === 0) this.#worker.unref();
      job?.resolve(root);
      freed();
    });
    const end = (reason: unknown) => {
      // First: what its callers send again must not get the thread that is ending.
      died();
      this.#fail(reason);
    };
    this.#worker.on("error", end);
    this.#worker.on("exit", () => end(new Error("a hashing thread ended")));
    this.#worker.unref();
  }

  get busy(): number {
    return this.#jobs.size;
  }

  run(job: Job): void {
    const slot = this.#jobs.has(0) ? 1 : 0;
    this.#memory.set(job.data, slot * SLOT_BYTES);
    this.#jobs.set(slot, job);
    this.#worker.ref();
    const task: HashTask = { slot, at: slot * SLOT_BYTES, length: job.data.length, leaves: job.leaves };
    this.#worker.postMessage(task);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(reason: unknown): void {
    for (const { reject } of this.#jobs.values()) reject(reason);
    this.#jobs.clear();
  }
}
