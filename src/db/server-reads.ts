import pg, { type Pool, type PoolClient } from "pg";
import { AppError, ClientLeftError } from "../kernel/errors.ts";
import type { AccountReads, Statement } from "./account-reads.ts";
import { ReadLimiter } from "./read-limiter.ts";
import { outageOf, type ServerWatch } from "./server-watch.ts";
import { isTimeout } from "./statement-timeout.ts";

/** `connectMs` is the deadline for a connection, `timeoutMs` that of a statement. */
type Options = {
  readonly url: string;
  readonly poolSize: number;
  readonly connectMs: number;
  readonly timeoutMs: number;
};

/** One account leaves the other connections to others. */
const MAX_RUNNING_PER_ACCOUNT = 1;
const MAX_WAITING_PER_ACCOUNT = 16;
const MAX_WAITING = 1_000;
/** The server ends a statement by itself; when it hangs, nobody waits much longer. */
const GRACE_MS = 1_000;

/**
 * Expensive reads on a PostgreSQL server: on a small pool of their own, read-only, without parallel workers, each
 * planned with its values, since a plan that is kept for all values fits none.
 */
export class ServerReads implements AccountReads {
  readonly #pool: Pool;
  readonly #limiter: ReadLimiter;
  readonly #watch: ServerWatch;
  readonly #timeoutMs: number;

  constructor({ url, poolSize, connectMs, timeoutMs }: Options, watch: ServerWatch) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: poolSize,
      connectionTimeoutMillis: connectMs,
      query_timeout: timeoutMs + GRACE_MS,
    });
    this.#pool.on("error", () => {});
    this.#watch = watch;
    this.#timeoutMs = timeoutMs;
    this.#limiter = new ReadLimiter({
      maxRunning: poolSize,
      maxRunningPerAccount: MAX_RUNNING_PER_ACCOUNT,
      maxWaiting: MAX_WAITING,
      maxWaitingPerAccount: MAX_WAITING_PER_ACCOUNT,
      waitMs: timeoutMs,
    });
  }

  rows<Row>(account: string, statement: Statement, signal?: AbortSignal): Promise<readonly Row[]> {
    return this.#limiter.run(account, () => this.#read<Row>(statement, signal), signal);
  }

  /** Lets go of every connection, once no read is under way. */
  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  async #read<Row>(statement: Statement, signal: AbortSignal | undefined): Promise<readonly Row[]> {
    this.#watch.requireServer();
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw outageOf(error);
    });
    let cancelling: Promise<unknown> | undefined;
    const cancel = () => {
      cancelling = this.#cancel(client);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    let isFit = false;
    try {
      if (signal?.aborted) throw new ClientLeftError();
      await client.query(`begin read only; set local statement_timeout = ${this.#timeoutMs};
        set local max_parallel_workers_per_gather = 0`);
      const { rows } = await client.query({ text: statement.text, values: [...statement.values] });
      await client.query("commit");
      isFit = cancelling === undefined;
      return rows as Row[];
    } catch (error) {
      if (signal?.aborted) throw new ClientLeftError();
      throw isTimeout(error) ? tookTooLong(this.#timeoutMs, error) : outageOf(error);
    } finally {
      signal?.removeEventListener("abort", cancel);
      await cancelling;
      // A connection on which anything failed is not used again: its transaction, or a cancellation, may be under way.
      client.release(!isFit);
    }
  }

  /** Tells the server to give up what this connection does. It says so on a connection of its own. */
  async #cancel(client: PoolClient): Promise<void> {
    const { processID } = client as unknown as { readonly processID: number | null };
    if (processID === null) return;
    const { connectionString, connectionTimeoutMillis } = this.#pool.options;
    const other = new pg.Client({ connectionString, connectionTimeoutMillis, query_timeout: GRACE_MS });
    other.on("error", () => {});
    try {
      await other.connect();
      await other.query("select pg_cancel_backend($1)", [processID]);
    } catch {
      // The statement then ends by its time limit.
    } finally {
      other.end().catch(() => {});
    }
  }
}

function tookTooLong(timeoutMs: number, cause: unknown): AppError {
  return new AppError(
    "unavailable",
    `This read took longer than ${timeoutMs / 1_000} s. Narrow it by a filter.`,
    {
      cause,
      retryAfterSeconds: Math.ceil(timeoutMs / 1_000),
    },
  );
}
