import { isStartup, type PostgresOptions, type PostgresSession } from "./postgres.ts";
import { PostgresThread } from "./postgres-thread.ts";

/**
 * Supervises the thread of the embedded database. A statement that exceeds the time limit cannot be cancelled inside
 * WebAssembly, so its thread is terminated; the client's next session opens the folder in a new thread, which recovers
 * it as after a crash.
 */
export class PostgresSupervisor implements PostgresSession {
  readonly #options: PostgresOptions;
  #thread: PostgresThread;
  #maxStatementMs: number | undefined;
  #reopening: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: PostgresOptions, thread: PostgresThread) {
    this.#options = options;
    this.#thread = thread;
  }

  static async open(options: PostgresOptions): Promise<PostgresSupervisor> {
    return new PostgresSupervisor(options, await PostgresThread.open(options));
  }

  /** Limits each further exchange to `maxStatementMs`. Before, migrations run without a limit. */
  limitStatements(maxStatementMs: number): void {
    this.#maxStatementMs = maxStatementMs;
  }

  async exchange(messages: Uint8Array): Promise<Uint8Array> {
    if (isStartup(messages)) await this.#reopen();
    const thread = this.#thread;
    const limit = this.#maxStatementMs;
    if (limit === undefined) return thread.exchange(messages);
    const timer = setTimeout(() => void thread.kill(), limit).unref();
    try {
      return await thread.exchange(messages);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reopening;
    await this.#thread.close();
  }

  /** Only for a new session: an existing session would lose its prepared statements. */
  async #reopen(): Promise<void> {
    if (!this.#thread.hasEnded || this.#isClosed) return;
    this.#reopening ??= PostgresThread.open(this.#options)
      .then((thread) => {
        this.#thread = thread;
      })
      .finally(() => {
        this.#reopening = undefined;
      });
    await this.#reopening;
  }
}
