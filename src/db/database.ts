import type { AnyEntity, EntityManager, MikroORM, Transaction as OrmTransaction } from "@mikro-orm/core";
import { CompiledQuery, type Kysely } from "kysely";
import pg, { type Pool } from "pg";

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
  readonly #pool: Pool | undefined;
  readonly #names = new Map<string, string>();
  readonly #prepared = new Map<string, Promise<string>>();
  readonly #onClose: () => void;

  constructor(orm: MikroORM, { pool, onClose = () => {} }: { pool?: Pool; onClose?: () => void } = {}) {
    this.orm = orm;
    this.#pool = pool;
    this.#onClose = onClose;
  }

  /** A fresh unit of work. */
  em(): EntityManager {
    return this.orm.em.fork() as EntityManager;
  }

  /** Runs one statement in a transaction of its own. */
  async rows<Row>(sql: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    if (!this.#pool) return this.#embedded<Row>(sql, parameters);
    const result = await this.#pool.query({ name: this.#nameOf(sql), text: sql, values: [...parameters] });
    return result.rows as Row[];
  }

  /** Runs `work` in one transaction: all of it is committed, or nothing. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.em().transactional((em) => {
      const open = em.getTransactionContext<Kysely<unknown> & OrmTransaction>();
      if (!open) throw new Error("the transaction has no connection");
      return work({ em: em as EntityManager, rows: (sql, parameters = []) => run(open, sql, parameters) });
    });
  }

  /** Whether the database answers. */
  async ping(): Promise<void> {
    await this.rows("select 1");
  }

  async close(): Promise<void> {
    await this.orm.close(true);
    this.#onClose();
  }

  /** PGlite's own protocol plans every query anew; SQL's PREPARE does not. Parameters are passed as text in any case. */
  async #embedded<Row>(sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    const kysely = this.#kysely();
    if (parameters.length === 0) return run<Row>(kysely, sql, parameters);
    const values = parameters.map((value) => (value === null ? "null" : pg.escapeLiteral(String(value))));
    return run<Row>(kysely, `execute ${await this.#prepare(kysely, sql)}(${values.join(", ")})`, []);
  }

  #prepare(kysely: Kysely<unknown>, sql: string): Promise<string> {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const name = this.#nameOf(sql);
    const prepared = run(kysely, `prepare ${name} as ${sql}`, []).then(() => name);
    this.#prepared.set(sql, prepared);
    prepared.catch(() => this.#prepared.delete(sql));
    return prepared;
  }

  #kysely(): Kysely<unknown> {
    return (this.orm.em.getConnection() as unknown as { getClient(): Kysely<unknown> }).getClient();
  }

  #nameOf(sql: string): string {
    const known = this.#names.get(sql);
    if (known) return known;
    const name = `zg_${this.#names.size}`;
    this.#names.set(sql, name);
    return name;
  }
}

async function run<Row>(on: Kysely<unknown>, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  const { rows } = await on.executeQuery<AnyEntity>(CompiledQuery.raw(sql, [...parameters]));
  return rows as Row[];
}
