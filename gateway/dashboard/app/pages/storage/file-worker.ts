import type { FileReport, FileTask, HashedFile, Receipt } from "./worker/messages.ts";

/** A task that the worker could not do; `segment` is the index of the segment that was refused. */
export class TaskFailed extends Error {
  readonly segment: number | undefined;

  constructor(message: string, segment?: number) {
    super(message);
    this.name = "TaskFailed";
    this.segment = segment;
  }
}

type Watch = (report: FileReport) => void;

/** A worker for one file: its thread hashes, sends or verifies. Its end cancels what it does, requests included. */
export class FileWorker {
  readonly #worker = new Worker(new URL("./worker/file-worker.ts", import.meta.url), { type: "module" });
  readonly #signal: AbortSignal;

  /** `signal` ends it. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.end(), { once: true });
  }

  /** Hashes a file. Throws `TaskFailed`. */
  async hash(file: Blob, watch: Watch): Promise<HashedFile> {
    return (await this.#run({ kind: "hash", file }, "hashed", watch)).file;
  }

  /** Sends the segments of the file that was hashed, besides those that are `stored`. Throws `TaskFailed`. */
  async send(stored: ReadonlySet<number>, watch: Watch): Promise<void> {
    await this.#run({ kind: "send", stored }, "sent", watch);
  }

  /** Receives and verifies a file. Throws `TaskFailed`. */
  async receive(receipt: Receipt, watch: Watch): Promise<Extract<FileReport, { kind: "received" }>> {
    return this.#run({ kind: "receive", receipt }, "received", watch);
  }

  end(): void {
    this.#worker.terminate();
  }

  #run<Kind extends FileReport["kind"]>(
    task: FileTask,
    end: Kind,
    watch: Watch,
  ): Promise<Extract<FileReport, { kind: Kind }>> {
    const { promise, resolve, reject } = Promise.withResolvers<Extract<FileReport, { kind: Kind }>>();
    const isEnd = (report: FileReport): report is Extract<FileReport, { kind: Kind }> => report.kind === end;
    const onAbort = () => reject(this.#signal.reason);
    this.#worker.onmessage = ({ data: report }: MessageEvent<FileReport>) => {
      if (isEnd(report)) resolve(report);
      else if (report.kind === "failed") reject(new TaskFailed(report.message, report.segment));
      else watch(report);
    };
    this.#worker.onerror = () =>
      reject(
        new TaskFailed("The part of this page that handles files could not be loaded. Reload the page."),
      );
    this.#signal.addEventListener("abort", onAbort, { once: true });
    if (this.#signal.aborted) onAbort();
    else this.#worker.postMessage(task);
    return promise.finally(() => this.#signal.removeEventListener("abort", onAbort));
  }
}
