import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AnyEntity, EntityManager, MikroORM, Transaction as OrmTransaction } from "@mikro-orm/core";
import { CompiledQuery, type Kysely } from "kysely";
import type { Pool } from "pg";
import { inSpan, isTracing, type SpanOptions } from "../kernel/tracing.ts";
import type { AccountReads } from "./account-reads.ts";
import { EmbeddedReads } from "./embedded-reads.ts";
import type { ServerReads } from "./server-reads.ts";
import { outageOf, type ServerWatch } from "./server-watch.ts";
import { timeoutOf } from "./statement-timeout.ts";

/** How often one statement is tried that others were preferred to (promises F46). */
const MAX_ATTEMPTS = 5;
const MAX_PAUSE_MS = 20;

/** Behind a pooler in transaction mode: the time limit, which goes with each statement. 0 is none. */
type Pooled = { readonly statementTimeoutMs: number };

/** 144 bits of a hash, so that no two statements share a name. */
const NAME_CHARACTERS = 24;

/** Runs SQL with `$1` parameters. A list parameter is passed as JSON text and unfolded by `jsonb_to_recordset`. */
export type Queries = {
  rows<Row>(sql: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;
};

/** One open transaction: its entity manager, and plain SQL inside it. */
export type Transaction = Queries & { readonly em: EntityManager };

/**
 * The one door to PostgreSQL, embedded (PGlite) or a server, on one dialect. Entities go through `em`; the few hot
 * statements go through `rows` as prepared statements, so that they are planned once: planning takes longer than
 * running them.
 *
 * PGlite has one connection: a query on the database while a transaction of the same flow is open would wait for
 * itself, so code inside `transaction` uses the transaction it was given and nothing else.
 */
export class Database implements Queries {
  readonly orm: MikroORM;
  /** Its connections, of which the embedded database has one. */
  readonly pool: Pool;
  readonly #watch: ServerWatch | undefined;
  readonly #names = new Map<string, string>();
  /** False where connections change between statements, and none knows what another one prepared. */
  #isPrepared: boolean;
  readonly #pooled: Pooled | undefined;
  readonly #serverReads: ServerReads | undefined;
  readonly #onClose: () => void | Promise<void>;
  /** Expensive reads, apart from all other statements. */
  readonly reads: AccountReads;

  constructor(
    orm: MikroORM,
    {
      pool,
      watch,
      reads,
      pooled,
      onClose = () => {},
    }: {
      readonly pool: Pool;
      readonly watch?: ServerWatch;
      readonly reads?: ServerReads;
      readonly pooled?: Pooled;
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
    this.#onClose = onClose;
  }

  /** A fresh unit of work. */
  em(): EntityManager {
    return this.orm.em.fork() as EntityManager;
  }

  /**
   * Runs one statement in a transaction of its own, and again where the database undid it for the sake of another.
   * Throws `unavailable` when the database is out of reach.
   */
  rows<Row>(sql: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    if (!isTracing()) return this.#rows(sql, parameters);
    return inSpan(...statementSpan(sql), () => this.#rows(sql, parameters));
  }

  async #rows<Row>(sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    const query = { text: sql, values: [...parameters], ...this.#waitLimit() };
    for (let tries = 1; ; tries++) {
      this.#watch?.requireServer();
      const name = this.#isPrepared ? this.#nameOf(sql) : undefined;
      try {
        return (await this.pool.query({ ...query, ...(name && { name }) })).rows as Row[];
      } catch (error) {
        if (name && isForeignName(error)) {
          this.#isPrepared = false;
          continue;
        }
        if (tries === MAX_ATTEMPTS || !isUndone(error)) throw this.#failureOf(error);
        await sleep(Math.random() * MAX_PAUSE_MS * tries);
      }
    }
  }

  /**
   * Runs `work` in one transaction: all of it is committed, or nothing. Throws `unavailable` when the database is out
   * of reach; when that happens during the commit, it may be either.
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
   * Whether the database answers but takes no writes, as a standby does. The connection that says so is let go: another
   * one may lead to a server that was made the primary meanwhile. Throws `unavailable` when it does not answer.
   */
  async isReadOnly(): Promise<boolean> {
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
      throw outageOf(timeoutOf(error));
    }
  }

  /** Throws `unavailable` unless the database answers. */
  async ping(): Promise<void> {
    await this.rows("select 1");
  }

  async close(): Promise<void> {
    await this.#watch?.stop();
    await this.#serverReads?.close();
    await this.orm.close(true);
    await this.#onClose();
  }

  #failureOf(error: unknown): unknown {
    this.#watch?.noteFailure(error);
    return outageOf(timeoutOf(error));
  }

  /** Where the server cannot be told a time limit, the wait for its answer has it, and the connection is then let go. */
  #waitLimit(): { readonly query_timeout?: number } {
    const { statementTimeoutMs = 0 } = this.#pooled ?? {};
    return statementTimeoutMs > 0 ? { query_timeout: statementTimeoutMs } : {};
  }

  #nameOf(sql: string): string {
    const known = this.#names.get(sql);
    if (known) return known;
    // By its text, since the connections of several processes may lead to one server process.
    const name = `zg_${createHash("sha256").update(sql).digest("base64url").slice(0, NAME_CHARACTERS)}`;
    this.#names.set(sql, name);
    return name;
  }
}

/** Only inside a request or a job: the looks that processes take by themselves would bury all else. */
const IN_DATABASE: SpanOptions = {
  kind: "client",
  onlyInside: true,
  facts: () => ({ "db.system.name": "postgresql" }),
};
const MAX_TEXT_LENGTH = 1_000;

/** Statements are constants of ours, with their values apart. */
function statementSpan(sql: string): [string, SpanOptions] {
  const text = sql.replaceAll(/\s+/g, " ").trim();
  const operation = /^\w+/.exec(text)?.[0].toUpperCase() ?? "SQL";
  const facts = () => ({
    "db.system.name": "postgresql",
    "db.operation.name": operation,
    "db.query.text": text.slice(0, MAX_TEXT_LENGTH),
  });
  return [operation, { ...IN_DATABASE, facts }];
}

/**
 * A prepared statement that this connection does not have, or has from another process: a pooler is between. Nothing of
 * the statement happened.
 */
function isForeignName(error: unknown): boolean {
  const { code } = Object(error);
  return code === "26000" || code === "42P05";
}

/** A serialization failure or a deadlock: nothing of the statement happened. */
function isUndone(error: unknown): boolean {
  const { code } = Object(error);
  return code === "40001" || code === "40P01";
}

async function run<Row>(on: Kysely<unknown>, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  const { rows } = await on.executeQuery<AnyEntity>(CompiledQuery.raw(sql, [...parameters]));
  return rows as Row[];
}
