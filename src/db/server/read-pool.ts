import pg, { type Pool } from "pg";
import { ClientLeftError } from "../../kernel/errors.ts";
import type { Statement } from "../account-reads.ts";
import { cancelStatement } from "./cancel-statement.ts";
import { noteConnectFailures } from "./connect-failures.ts";
import type { ServerAddress } from "./server-address.ts";

/** If the server hangs, its statements wait only this much longer than their time limit. */
const GRACE_MS = 1_000;

/** Connections for expensive reads of one server. Each read has a deadline, on the server itself. */
export class ReadPool {
  readonly pool: Pool;
  readonly #address: ServerAddress;
  readonly #timeoutMs: number;

  constructor(address: ServerAddress, { size, timeoutMs }: { size: number; timeoutMs: number }) {
    this.#address = address;
    this.#timeoutMs = timeoutMs;
    this.pool = new pg.Pool({ ...address, max: size, query_timeout: timeoutMs + GRACE_MS });
    this.pool.on("error", () => {});
    // The pool of all other statements logs the reasons.
    noteConnectFailures(this.pool, undefined);
    // A connection that breaks during a read also says so in an event, which would end the process.
    this.pool.on("connect", (client) => void client.on("error", () => {}));
  }

  /**
   * Runs one statement, read-only, without parallel workers, planned with its values, since a generic plan fits none of
   * them. Throws the failures of `pg`, and `ClientLeftError` when `signal` aborts, which also cancels the statement.
   */
  async read<Row>(statement: Statement, signal: AbortSignal | undefined): Promise<readonly Row[]> {
    const client = await this.pool.connect();
    let cancelling: Promise<unknown> | undefined;
    const cancel = () => {
      cancelling = cancelStatement(client, this.#address);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    let isReusable = false;
    try {
      if (signal?.aborted) throw new ClientLeftError();
      await client.query(`begin isolation level read committed read only; set local statement_timeout = ${this.#timeoutMs};
        set local max_parallel_workers_per_gather = 0;
        set local enable_bitmapscan = ${statement.isOrdered ? "off" : "on"}`);
      const { rows } = await client.query({ text: statement.text, values: [...statement.values] });
      await client.query("commit");
      isReusable = cancelling === undefined;
      return rows as Row[];
    } catch (error) {
      if (signal?.aborted) throw new ClientLeftError();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      await cancelling;
      // A connection with a failure is not reused: its transaction, or a cancellation, may still be in progress.
      client.release(!isReusable);
    }
  }

  /** Closes every connection once no read is in progress. */
  async close(): Promise<void> {
    if (!this.pool.ending) await this.pool.end();
  }
}
