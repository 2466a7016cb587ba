import { Database, type Transaction } from "../../../src/db/database.ts";

/** A statement or a transaction that a simulated process has sent and that has not run yet. */
export type Waiting = {
  readonly process: number;
  readonly label: string;
  /** Runs it to its end and delivers its answer. */
  commit(): Promise<void>;
  /** It never reaches the database. */
  lose(): void;
  /** It is committed, and its answer is lost. */
  commitUnheard(): Promise<void>;
};

/** The error of a process when its connection to the database breaks. */
export class ConnectionBroke extends Error {
  override readonly name = "ConnectionBroke";
}

/**
 * Holds back the statements of the simulated processes, so that the simulation decides what runs next. One
 * statement runs at a time and whole, as under serialisable isolation; processes interleave between
 * statements.
 */
export class Gate {
  readonly waiting: Waiting[] = [];
  /** The number of statements and transactions that ran. */
  runs = 0;
  readonly #failed: () => void;

  /** `failed` is called when a statement fails. */
  constructor(failed: () => void) {
    this.#failed = failed;
  }

  /** How often each process has recalled the allotments of others. */
  readonly recalls = new Map<number, number>();

  /** Waits until the simulation lets `work` run. A dead process receives nothing any more. */
  pass<T>(process: SimProcess, label: string, work: () => Promise<T>): Promise<T> {
    if (!process.alive) return new Promise(() => {});
    return new Promise<T>((resolve, reject) => {
      const run = async (hear: boolean) => {
        this.#leave(entry);
        this.runs++;
        if (RECALL.test(label)) this.recalls.set(process.id, (this.recalls.get(process.id) ?? 0) + 1);
        const answer = await work().then(
          (value) => () => resolve(value),
          (error: unknown) => {
            this.#failed();
            return () => reject(error);
          },
        );
        if (!process.alive) return;
        if (hear) answer();
        else reject(new ConnectionBroke("the line broke after the commit"));
      };
      const entry: Waiting = {
        process: process.id,
        label,
        commit: () => run(true),
        commitUnheard: () => run(false),
        lose: () => {
          this.#leave(entry);
          if (process.alive) reject(new ConnectionBroke("the line broke before the commit"));
        },
      };
      this.waiting.push(entry);
    });
  }

  #leave(entry: Waiting): void {
    this.waiting.splice(this.waiting.indexOf(entry), 1);
  }
}

/** One life of a process: after `kill -9` it has another one. */
export type SimProcess = { readonly id: number; alive: boolean };

/**
 * The database as one process sees it: everything goes through the gate. `rewrite` plants bugs in its SQL.
 */
export class GatedDatabase extends Database {
  readonly #inner: Database;
  readonly #gate: Gate;
  readonly #process: SimProcess;
  readonly #rewrite: (sql: string) => string;

  constructor(
    inner: Database,
    gate: Gate,
    process: SimProcess,
    rewrite: (sql: string) => string = (sql) => sql,
  ) {
    super(inner.orm, { pool: inner.pool });
    this.#inner = inner;
    this.#gate = gate;
    this.#process = process;
    this.#rewrite = rewrite;
  }

  override rows<Row>(sql: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    const text = this.#rewrite(sql);
    return this.#gate.pass(this.#process, labelOf(sql), () => this.#inner.rows<Row>(text, parameters));
  }

  override transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#gate.pass(this.#process, "transaction", () =>
      this.#inner.transaction((tx) =>
        work({ em: tx.em, rows: (sql, parameters) => tx.rows(this.#rewrite(sql), parameters) }),
      ),
    );
  }
}

/** How the recall of an account's allotments begins. */
const RECALL = /^with locked as \( select a.id, a.account from allotment a/;

function labelOf(sql: string): string {
  return sql.trim().slice(0, 60).replaceAll(/\s+/g, " ");
}
