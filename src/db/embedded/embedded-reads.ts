import { ClientLeftError } from "../../kernel/errors.ts";
import type { AccountReads, Statement } from "../account-reads.ts";
import { MAX_WAITING_PER_ACCOUNT, ReadLimiter } from "../read-limiter.ts";

const MAX_WAITING = 1_000;
const WAIT_MS = 5_000;
/**
 * Statements that are prepared, which saves two thirds of the time of a short read. Lists have thousands of variants,
 * one for each combination of filters, and each would take 230 KB of the database's memory as long as it is open.
 */
const MAX_PREPARED = 128;

/** The database itself, as in `Queries`. */
type Source = {
  rows<Row>(sql: string, parameters: readonly unknown[], mayPrepare: boolean): Promise<readonly Row[]>;
};

/**
 * Expensive reads of the embedded database, one at a time. It has one connection, so all other statements wait for the
 * running read, and run before the next one; it can neither cancel a statement nor time it out.
 */
export class EmbeddedReads implements AccountReads {
  readonly #source: Source;
  /** The texts of the first statements. */
  readonly #prepared = new Set<string>();
  readonly #limiter = new ReadLimiter({
    maxRunning: 1,
    maxRunningPerAccount: 1,
    maxWaiting: MAX_WAITING,
    maxWaitingPerAccount: MAX_WAITING_PER_ACCOUNT,
    waitMs: WAIT_MS,
  });

  constructor(source: Source) {
    this.#source = source;
  }

  rows<Row>(account: string, { text, values }: Statement, signal?: AbortSignal): Promise<readonly Row[]> {
    const read = () => {
      if (signal?.aborted) throw new ClientLeftError();
      if (this.#prepared.size < MAX_PREPARED) this.#prepared.add(text);
      return this.#source.rows<Row>(text, values, this.#prepared.has(text));
    };
    return this.#limiter.run(account, async () => read(), signal);
  }
}
