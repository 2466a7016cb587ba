import pg, { type Pool } from "pg";
import { AppError, ClientLeftError } from "../kernel/errors.ts";
import type { AccountReads, Statement } from "./account-reads.ts";
import { cancelStatement } from "./cancel-statement.ts";
import { ReadLimiter } from "./read-limiter.ts";
import type { ServerAddress } from "./server-address.ts";
import { outageOf, type ServerWatch } from "./server-watch.ts";
import { isTimeout } from "./statement-timeout.ts";

/** `timeoutMs` is the deadline for a statement. */
type Options = {
  readonly address: ServerAddress;
  readonly poolSize: number;
  readonly timeoutMs: number;
};

/** Leaves the other connections to other accounts. */
const MAX_RUNNING_PER_ACCOUNT = 1;
const MAX_WAITING_PER_ACCOUNT = 16;
const MAX_WAITING = 1_000;
/** The server times out a statement itself; if it hangs, callers wait only this much longer. */
const GRACE_MS = 1_000;

/**
 * Expensive reads on a PostgreSQL server: on a small separate pool, read-only, without parallel workers, each planned
 * with its values, since a generic plan fits none of them.
 */
export class ServerReads implements AccountReads {
  readonly #address: ServerAddress;
  readonly #pool: Pool;
  readonly #limiter: ReadLimiter;
  readonly #watch: ServerWatch;
  readonly #timeoutMs: number;

  constructor({ address, poolSize, timeoutMs }: Options, watch: ServerWatch) {
    this.#address = address;
    this.#pool = new pg.Pool({
      ...address,
      max: poolSize,
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

  /** Closes every connection once no read is in progress. */
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
      cancelling = cancelStatement(client, this.#address);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    let isReusable = false;
    try {
      if (signal?.aborted) throw new ClientLeftError();
      await client.query(`begin read only; set local statement_timeout = ${this.#timeoutMs};
        set local max_parallel_workers_per_gather = 0`);
      const { rows } = await client.query({ text: statement.text, values: [...statement.values] });
      await client.query("commit");
      isReusable = cancelling === undefined;
      return rows as Row[];
    } catch (error) {
      if (signal?.aborted) throw new ClientLeftError();
      throw isTimeout(error) ? tookTooLong(this.#timeoutMs, error) : outageOf(error);
    } finally {
      signal?.removeEventListener("abort", cancel);
      await cancelling;
      // A connection with a failure is not reused: its transaction, or a cancellation, may still be in progress.
      client.release(!isReusable);
    }
  }
}

function tookTooLong(timeoutMs: number, cause: unknown): AppError {
  return new AppError(
    "unavailable",
    `This read took longer than ${timeoutMs / 1_000} s. Use a narrower filter.`,
    {
      cause,
      retryAfterSeconds: Math.ceil(timeoutMs / 1_000),
    },
  );
}
