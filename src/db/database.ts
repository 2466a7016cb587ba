import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AnyEntity, EntityManager, MikroORM, Transaction as OrmTransaction } from "@mikro-orm/core";
import { CompiledQuery, type Kysely } from "kysely";
import type { Pool, PoolClient } from "pg";
import { inSpan, isTracing } from "../kernel/tracing.ts";
import type { AccountReads } from "./account-reads.ts";
import { EmbeddedReads } from "./embedded/embedded-reads.ts";
import type { Replica } from "./server/replica.ts";
import type { ServerReads } from "./server/server-reads.ts";
import { isDiskFullFailure, isReadOnlyFailure, outageOf, type ServerWatch } from "./server/server-watch.ts";
import { isTimeoutOfWait, timeoutOf } from "./server/statement-timeout.ts";
import { isAborted, isForeignName, notPrepared } from "./statement-failures.ts";
import { IN_DATABASE, statementSpan } from "./statement-span.ts";

/** Attempts of a statement that the database aborted in favour of others (promises F46). */
const FULL_MS = 10_000;
const MAX_ATTEMPTS = 5;
const MAX_PAUSE_MS = 20;

/** The time limit per statement behind a pooler in transaction mode; 0 for none. */
type Pooled = { readonly statementTimeoutMs: number };

/** 144 bits of a hash, so that no two statements share a name. */
const NAME_CHARACTERS = 24;

/** Runs SQL with `$1` parameters. A list parameter is passed as JSON text and expanded by `jsonb_to_recordset`. */
export type Queries = {
  rows<Row>(sql: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;
};

/** One open transaction: its entity manager, and plain SQL inside it. */
export type Transaction = Queries & { readonly em: EntityManager };

/**
 * The only access to PostgreSQL, embedded (PGlite) or a server, in one dialect. Entities go through `em`; the few hot
 * statements go through `rows` as prepared statements, so that they are planned once: planning takes longer than
 * running them.
 *
 * PGlite has one connection: a query on the database inside an open transaction of the same flow would deadlock, so
 * code inside `transaction` uses only the transaction it receives.
 */
export class Database implements Queries {
  readonly orm: MikroORM;
  /** The connections; the embedded database has one. */
  readonly pool: Pool;
  readonly #watch: ServerWatch | undefined;
  #fullAtMs: number | undefined;
  readonly #names = new Map<string, string>();
  /** False if connections change between statements, so that prepared statements are not available on all of them. */
  #isPrepared: boolean;
  readonly #pooled: Pooled | undefined;
  readonly #serverReads: ServerReads | undefined;
  /** The folder of an embedded database that is not in memory. */
  readonly folder: string | undefined;
  readonly #onClose: () => void | Promise<void>;
  /** Expensive reads, separate from all other statements. */
  readonly reads: AccountReads;

  constructor(
    orm: MikroORM,
    {
      pool,
      watch,
      reads,
      pooled,
      folder,
      onClose = () => {},
    }: {
      readonly pool: Pool;
      readonly watch?: ServerWatch;
      readonly reads?: ServerReads;
      readonly pooled?: Pooled;
      readonly folder?: string;
      readonly onClose?: () => void | Promise<void>;
    },
  ) {
    this.orm = orm;
    this.pool = pool;
    this.#watch = watch;
    this.#serverReads = reads;
    this.reads = reads ?? new EmbeddedReads(this);
    this.#pooled = pooled;
    this.#isPrepared = pooled === undefined;
    this.folder = folder;
    this.#onClose = onClose;
  }

  /** The replica for expensive reads, if there is one. */
  get replica(): Replica | undefined {
    return this.#serverReads?.replica;
  }

  /** The connections that are open, those of them that are idle, and the callers that wait for one. */
  connections(): { readonly open: number; readonly idle: number; readonly waiting: number } {
    const { totalCount: open, idleCount: idle, waitingCount: waiting } = this.pool;
    return { open, idle, waiting };
  }

  /** A new unit of work. */
  em(): EntityManager {
    return this.orm.em.fork() as EntityManager;
  }

  /**
   * Runs one statement in its own transaction, and retries it if the database aborted it in favour of another. A statement
   * with too many variants to prepare them all is run without `mayPrepare`. Throws `unavailable` if the database is
   * unreachable.
   */
  rows<Row>(sql: string, parameters: readonly unknown[] = [], mayPrepare = true): Promise<readonly Row[]> {
    if (!isTracing()) return this.#rows(sql, parameters, mayPrepare);
    return inSpan(...statementSpan(sql), () => this.#rows(sql, parameters, mayPrepare));
  }

  async #rows<Row>(
    sql: string,
    parameters: readonly unknown[],
    mayPrepare: boolean,
  ): Promise<readonly Row[]> {
    const query = { text: sql, values: [...parameters], ...this.#waitLimit() };
    for (let attempt = 1; ; attempt++) {
      this.#watch?.requireServer();
      const name = this.#isPrepared && mayPrepare ? this.#nameOf(sql) : undefined;
      try {
        return (await this.pool.query({ ...query, ...(name && { name }) })).rows as Row[];
      } catch (error) {
        if (name && isForeignName(error)) {
          this.#isPrepared = false;
          continue;
        }
        if (attempt === MAX_ATTEMPTS || !isAborted(error)) throw this.#failureOf(error);
        await sleep(Math.random() * MAX_PAUSE_MS * attempt);
      }
    }
  }

  /**
   * Runs `work` in one transaction: all of it is committed, or nothing. Throws `unavailable` if the database is
   * unreachable; if that happens during the commit, the outcome is unknown.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#watch?.requireServer();
    if (isTracing()) return inSpan("transaction", IN_DATABASE, () => this.#transaction(work));
    return this.#transaction(work);
  }

  async #transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      return await this.em().transactional(async (em) => {
        const open = em.getTransactionContext<Kysely<unknown> & OrmTransaction>();
        if (!open) throw new Error("the transaction has no connection");
        const rows: Queries["rows"] = (sql, parameters = []) =>
          isTracing()
            ? inSpan(...statementSpan(sql), () => run(open, sql, parameters))
            : run(open, sql, parameters);
        if (this.#pooled) await rows(`set local statement_timeout = ${this.#pooled.statementTimeoutMs}`);
        return work({ em: em as EntityManager, rows });
      });
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /**
   * As `transaction`, of prepared statements alone: without an entity manager, whose unit of work costs more than a
   * short statement, for transactions that a process makes many times a second.
   */
  async statements<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      return await this.#statements(work);
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /**
   * As `statements`; `work` is repeated if the database aborted it in favour of another transaction, or did not have one
   * of its prepared statements.
   */
  async repeatable<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#statements(work);
      } catch (error) {
        const mayRepeat = isAborted(error) || isForeignName(error);
        if (attempt === MAX_ATTEMPTS || !mayRepeat) throw this.#failureOf(error);
        await sleep(Math.random() * MAX_PAUSE_MS * attempt);
      }
    }
  }

  async #statements<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    this.#watch?.requireServer();
    let client: PoolClient | undefined;
    let isBroken = true;
    try {
      client = await this.pool.connect();
      const open = client;
      const rows: Queries["rows"] = async (sql, parameters = []) => {
        const name = this.#isPrepared ? this.#nameOf(sql) : undefined;
        const query = { text: sql, values: [...parameters], ...this.#waitLimit(), ...(name && { name }) };
        return (await open.query(query)).rows;
      };
      const limitMs = this.#pooled?.statementTimeoutMs;
      await open.query(limitMs === undefined ? "begin" : `begin; set local statement_timeout = ${limitMs}`);
      const result = await work({ rows });
      await open.query("commit");
      isBroken = false;
      return result;
    } catch (error) {
      if (isForeignName(error)) this.#isPrepared = false;
      isBroken = isTimeoutOfWait(error) || !(await hasRolledBack(client));
      throw error;
    } finally {
      client?.release(isBroken);
    }
  }

  /**
   * Whether the database responds but is read-only, like a standby. A read-only connection is closed: another one may
   * lead to a server that was promoted meanwhile. Throws `unavailable` if the database does not respond.
   */
  async isReadOnly(): Promise<boolean> {
    if (this.#watch?.hasNoPrimary) return true;
    this.#watch?.requireServer();
    try {
      const client = await this.pool.connect();
      let isReadOnly = true;
      try {
        const { rows } = await client.query(
          "select current_setting('transaction_read_only') = 'on' as is_read_only",
        );
        isReadOnly = rows[0]?.is_read_only === true;
      } finally {
        client.release(isReadOnly);
      }
      return isReadOnly;
    } catch (error) {
      if (isReadOnlyFailure(error)) return true;
      throw outageOf(timeoutOf(error));
    }
  }

  /** Throws `unavailable` unless the database responds. */
  async ping(): Promise<void> {
    await this.rows("select 1");
  }

  async close(): Promise<void> {
    await this.#watch?.stop();
    await this.#serverReads?.close();
    await this.orm.close(true);
    await this.#onClose();
  }

  /** Whether a statement failed in the last 10 s because the database's disk is full. Statements that only read succeed. */
  get isFull(): boolean {
    return this.#fullAtMs !== undefined && performance.now() - this.#fullAtMs < FULL_MS;
  }

  #failureOf(error: unknown): unknown {
    if (isDiskFullFailure(error)) this.#fullAtMs = performance.now();
    this.#watch?.noteFailure(error);
    return isForeignName(error) ? notPrepared(error) : outageOf(timeoutOf(error));
  }

  /** If the server cannot be given a time limit, the client's wait has it, and the connection is closed on timeout. */
  #waitLimit(): { readonly query_timeout?: number } {
    const { statementTimeoutMs = 0 } = this.#pooled ?? {};
    return statementTimeoutMs > 0 ? { query_timeout: statementTimeoutMs } : {};
  }

  #nameOf(sql: string): string {
    const known = this.#names.get(sql);
    if (known) return known;
    // Named by its text, since connections of several processes may lead to one server process.
    const name = `zg_${createHash("sha256").update(sql).digest("base64url").slice(0, NAME_CHARACTERS)}`;
    this.#names.set(sql, name);
    return name;
  }
}

/** Resolves with false if the connection cannot be used any more. */
async function hasRolledBack(client: PoolClient | undefined): Promise<boolean> {
  try {
    await client?.query("rollback");
    return true;
  } catch {
    return false;
  }
}

async function run<Row>(on: Kysely<unknown>, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  const { rows } = await on.executeQuery<AnyEntity>(CompiledQuery.raw(sql, [...parameters]));
  return rows as Row[];
}
