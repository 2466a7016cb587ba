import { ClientLeftError } from "../../kernel/errors.ts";
import type { AccountReads, Statement } from "../account-reads.ts";
import { MAX_WAITING_PER_ACCOUNT, ReadLimiter } from "../read-limiter.ts";

const MAX_WAITING = 1_000;
const WAIT_MS = 5_000;

/** The database itself, as in `Queries`. */
type Source = { rows<Row>(sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> };

/**
 * Expensive reads of the embedded database, one at a time. It has one connection, so all other statements wait for the
 * running read, and run before the next one; it can neither cancel a statement nor time it out.
 */
export class EmbeddedReads implements AccountReads {
  readonly #source: Source;
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
      return this.#source.rows<Row>(text, values);
    };
    return this.#limiter.run(account, async () => read(), signal);
  }
}
