import { AppError, ClientLeftError } from "../../kernel/errors.ts";
import type { AccountReads, Statement } from "../account-reads.ts";
import { MAX_WAITING_PER_ACCOUNT, ReadLimiter } from "../read-limiter.ts";
import type { ReadPool } from "./read-pool.ts";
import type { Replica } from "./replica.ts";
import { outageOf, type ServerWatch } from "./server-watch.ts";
import { isTimeout, isTimeoutOfServer } from "./statement-timeout.ts";

/** `timeoutMs` is the deadline for a statement, and for its wait in the queue; `poolSize` is how many run at once. */
type Limits = { readonly poolSize: number; readonly timeoutMs: number };

type Sources = {
  readonly primary: ReadPool;
  /** Watches the primary. */
  readonly watch: ServerWatch;
  readonly replica?: Replica | undefined;
};

/** Leaves the other connections to other accounts. */
const MAX_RUNNING_PER_ACCOUNT = 1;
const MAX_WAITING = 1_000;

/**
 * Expensive reads on a PostgreSQL server, each on separate connections: of the replica while there is one that has not
 * fallen behind, else of the primary. A read that the replica fails is repeated on the primary.
 */
export class ServerReads implements AccountReads {
  readonly #sources: Sources;
  readonly #limiter: ReadLimiter;
  readonly #timeoutMs: number;

  constructor(sources: Sources, { poolSize, timeoutMs }: Limits) {
    this.#sources = sources;
    this.#timeoutMs = timeoutMs;
    this.#limiter = new ReadLimiter({
      maxRunning: poolSize,
      maxRunningPerAccount: MAX_RUNNING_PER_ACCOUNT,
      maxWaiting: MAX_WAITING,
      maxWaitingPerAccount: MAX_WAITING_PER_ACCOUNT,
      waitMs: timeoutMs,
    });
  }

  /** The replica, if there is one. */
  get replica(): Replica | undefined {
    return this.#sources.replica;
  }

  rows<Row>(account: string, statement: Statement, signal?: AbortSignal): Promise<readonly Row[]> {
    return this.#limiter.run(account, () => this.#read<Row>(statement, signal), signal);
  }

  /** Closes every connection once no read is in progress. */
  async close(): Promise<void> {
    await Promise.all([this.#sources.primary.close(), this.#sources.replica?.close()]);
  }

  async #read<Row>(statement: Statement, signal: AbortSignal | undefined): Promise<readonly Row[]> {
    const { primary, watch, replica } = this.#sources;
    try {
      if (replica?.isFresh) return await replica.reads.read<Row>(statement, signal);
    } catch (error) {
      // The primary would take as long.
      if (isTimeoutOfServer(error) || error instanceof ClientLeftError) throw this.#failureOf(error);
    }
    watch.requireServer();
    try {
      return await primary.read<Row>(statement, signal);
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  #failureOf(error: unknown): unknown {
    return isTimeout(error) ? tookTooLong(this.#timeoutMs, error) : outageOf(error);
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
