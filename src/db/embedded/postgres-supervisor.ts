import { isStartup, type PostgresOptions, type PostgresSession } from "./postgres.ts";
import { PostgresThread } from "./postgres-thread.ts";

/**
 * Supervises the thread of the embedded database. A statement that exceeds the time limit cannot be cancelled inside
 * WebAssembly, and after a panic, such as that of a full disk, PostgreSQL accepts no session: in both cases the thread is terminated. The
 * client's next session opens the folder in a new thread, which recovers it as after a crash.
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
    const thread = new PostgresThread(options);
    await thread.opened();
    return new PostgresSupervisor(options, thread);
  }

  /** Limits each further exchange to `maxStatementMs`. Before, migrations run without a limit. */
  limitStatements(maxStatementMs: number): void {
    this.#maxStatementMs = maxStatementMs;
  }

  async exchange(messages: Uint8Array): Promise<Uint8Array> {
    if (isStartup(messages)) await this.#reopen();
    const thread = this.#thread;
    return this.#within(thread, async () => {
      try {
        return await thread.exchange(messages);
      } catch (error) {
        if (isStartup(messages)) await thread.kill();
        throw error;
      }
    });
  }

  /** Terminates the thread if its work takes longer than a statement may. */
  async #within<T>(thread: PostgresThread, work: () => Promise<T>): Promise<T> {
    const limit = this.#maxStatementMs;
    if (limit === undefined) return work();
    const timer = setTimeout(() => void thread.kill(), limit).unref();
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reopening?.catch(() => {});
    await this.#thread.close();
  }

  /** Only for a new session: an existing session would lose its prepared statements. */
  async #reopen(): Promise<void> {
    if (!this.#thread.hasEnded || this.#isClosed) return;
    this.#reopening ??= this.#openAnew().finally(() => {
      this.#reopening = undefined;
    });
    await this.#reopening;
  }

  async #openAnew(): Promise<void> {
    const thread = new PostgresThread(this.#options);
    // Recovery may panic, too, while the disk is still full.
    await this.#within(thread, () => thread.opened());
    this.#thread = thread;
  }
}
