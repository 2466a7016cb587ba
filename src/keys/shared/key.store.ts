import {
  type EntityClass,
  type FilterQuery,
  LockMode,
  UniqueConstraintViolationException,
} from "@mikro-orm/core";
import type { RowCount } from "../../db/count-rows.ts";
import type { Database, Transaction } from "../../db/database.ts";
import { appendEvents } from "../../events/outbox.ts";
import type { TopicPayloads } from "../../events/topics.ts";
import type { WaitingClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import { invalidCursorOf, type PageRequest, pageLimit, readTimeCursor, scanOf } from "../../kernel/page.ts";
import { isId } from "../../kernel/text/ids.ts";
import type { KeyRow } from "./key.row.ts";
import type { KeyKind } from "./key.ts";

/** What a service of keys needs. `committed` is called after every transaction. */
export type KeyDependencies = {
  readonly database: Database;
  readonly clock: WaitingClock;
  readonly committed: () => void;
};

type KeyChange = TopicPayloads["key.changed"];

/** The table of one kind of key, with the kind in its events and the error code for an unknown key. */
type KeyTable<Row> = {
  readonly entity: EntityClass<Row>;
  readonly kind: KeyKind;
  readonly notFound: "api_key_not_found" | "management_key_not_found";
};

/** Lists and changes the keys of one kind. */
export class KeyStore<Row extends KeyRow> {
  readonly #dependencies: KeyDependencies;
  readonly #table: KeyTable<Row>;

  constructor(dependencies: KeyDependencies, table: KeyTable<Row>) {
    this.#dependencies = dependencies;
    this.#table = table;
  }

  /**
   * The keys of an account that match a filter, oldest first, one more than the page has. Throws `invalid_cursor` and
   * `invalid_parameter`.
   */
  async list(account: string, page: PageRequest, filter: FilterQuery<NoInfer<Row>>): Promise<readonly Row[]> {
    const { order } = scanOf(page, "asc");
    const where = { $and: [{ account }, beyondCursor(this.#table.kind, page), filter] } as FilterQuery<
      NoInfer<Row>
    >;
    const options = { orderBy: { createdAt: order, id: order }, limit: pageLimit(page) } as const;
    return this.#dependencies.database.em().find(this.#table.entity, where, options);
  }

  /** How many keys of an account match a filter. */
  async count(account: string, filter: FilterQuery<NoInfer<Row>>): Promise<RowCount> {
    const where = { $and: [{ account }, filter] } as FilterQuery<NoInfer<Row>>;
    return { rows: await this.#dependencies.database.em().count(this.#table.entity, where), isExact: true };
  }

  /** The key of an account; undefined for an unknown id and for another account's key. */
  async find(account: string, id: string): Promise<Row | undefined> {
    if (!isId(id)) return undefined;
    const where = { id, account } as FilterQuery<NoInfer<Row>>;
    return (await this.#dependencies.database.em().findOne(this.#table.entity, where)) ?? undefined;
  }

  /** Runs a change in one transaction. Throws `duplicate_name` if another unrevoked key of the account has the name. */
  async commit<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      const result = await this.#dependencies.database.transaction(work);
      this.#dependencies.committed();
      return result;
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      const options = { param: "name", cause: error };
      throw new AppError("duplicate_name", "Another key of this account has this name.", options);
    }
  }

  /** Writes a created or changed row and its event: the last step of a transaction. */
  async save(tx: Transaction, { id: keyId, account }: Row, change: KeyChange["change"]): Promise<void> {
    await tx.em.flush();
    const data = { account, keyId, kind: this.#table.kind, change };
    await appendEvents(tx, [{ topic: "key.changed", subject: account, data }]);
  }

  /** Reads and locks a key for a change. Throws the table's `notFound`, also for another account's key, and `key_revoked`. */
  async lockUnrevoked(tx: Transaction, account: string, id: string): Promise<Row> {
    const row = await this.#lock(tx, account, id);
    if (row.revokedAt) throw new AppError("key_revoked", "This key was revoked: it cannot be changed.");
    return row;
  }

  /**
   * Revokes a key, and does `also` in the same transaction, even if the key was revoked before. Idempotent. Throws the
   * table's `notFound`, also for another account's key.
   */
  async revoke(account: string, id: string, also?: (tx: Transaction) => Promise<void>): Promise<Row> {
    return this.commit(async (tx) => {
      const row = await this.#lock(tx, account, id);
      if (!row.revokedAt) {
        row.revokedAt = this.#dependencies.clock.now();
        await this.save(tx, row, "revoked");
      }
      await also?.(tx);
      return row;
    });
  }

  /** The admissions and settlements of a locked key wait until the transaction ends. */
  async #lock(tx: Transaction, account: string, id: string): Promise<Row> {
    const { entity, notFound } = this.#table;
    const where = { id, account } as FilterQuery<NoInfer<Row>>;
    const row = isId(id) && (await tx.em.findOne(entity, where, { lockMode: LockMode.PESSIMISTIC_WRITE }));
    if (!row) throw new AppError(notFound, "There is no such key.");
    return row;
  }
}

/** The first condition is an index range; the second excludes rows of the same time that were already listed. */
function beyondCursor(kind: KeyKind, page: PageRequest) {
  const from = readTimeCursor(page, kind);
  if (!from) return {};
  if (!isId(from.id)) throw invalidCursorOf(page);
  const { at, id } = from;
  return scanOf(page, "asc").order === "asc"
    ? { createdAt: { $gte: at }, $or: [{ createdAt: { $gt: at } }, { id: { $gt: id } }] }
    : { createdAt: { $lte: at }, $or: [{ createdAt: { $lt: at } }, { id: { $lt: id } }] };
}

/** A filter of which one condition must hold. Without conditions, it matches nothing. */
export function oneOf<Row extends KeyRow>(conditions: readonly FilterQuery<Row>[]): FilterQuery<Row> {
  return { $or: conditions.length > 0 ? conditions : [{ id: null }] } as FilterQuery<Row>;
}
