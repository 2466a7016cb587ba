import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import { type ArchiveFile, readArchive, writeArchive } from "./archive-file.ts";
import {
  beginRemoval,
  type ClosedMonth,
  countRemoved,
  endRemoval,
  listClosedMonths,
  renewLease,
  type Totals,
} from "./closed-months.store.ts";
import type { ArchivedRow, ClosingSource } from "./closing-source.ts";
import { addMonths, type Month, startOf } from "./months.ts";

/** Rows removed by one transaction. */
const STEP = 1_000;
/** Slices between two rounds of the embedded database's maintenance. */
const MAINTAIN_EVERY = 20;

/** What closing a month needs. */
export type CloserDependencies = {
  readonly database: Database;
  readonly folder: string;
  readonly processId: string;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
  /** Vacuums and checkpoints the embedded database, whose log would grow meanwhile. */
  readonly maintain: (() => Promise<void>) | undefined;
  /** Called with the number of rows that were removed by one transaction. */
  readonly onRemoved: (rows: number) => void;
};

/**
 * Archives the rows of a month and then removes them, in slices with pauses of the same length. The archive is on the disk
 * and was read back before the first row is removed, and only rows that are in it are. A process that takes over after a
 * crash writes the archive again, or continues to remove after the last row that was removed.
 */
export class MonthCloser {
  readonly #source: ClosingSource;
  readonly #dependencies: CloserDependencies;
  #slices = 0;

  constructor(source: ClosingSource, dependencies: CloserDependencies) {
    this.#source = source;
    this.#dependencies = dependencies;
  }

  /** Archives a month, whose rows may be removed then. Returns it as it is stored. */
  async archive(month: Month, previous: ClosedMonth | undefined): Promise<ClosedMonth> {
    const { database, folder } = this.#dependencies;
    const { kind } = this.#source;
    const columns = await this.#source.columns(database);
    const header = columns.map(({ name }) => name);
    const file = await writeArchive(folder, { kind, month }, header, this.#batches(columns, month));
    const totals = await this.#readBack(file);
    await database.transaction(async (tx) => {
      await renewLease(tx, this.#dependencies.processId);
      await beginRemoval(tx, { kind, month, previous, file, totals });
    });
    const closing = (await listClosedMonths(database, kind)).at(-1);
    if (closing?.month !== month) throw new Error(`the ${kind} of ${month} are not recorded as archived`);
    return closing;
  }

  /** Removes the rows of an archived month, and closes it. */
  async remove(closing: ClosedMonth): Promise<void> {
    const { database, folder, signal } = this.#dependencies;
    let position = 0;
    let keys: string[] = [];
    let removed = closing.removed;
    const flush = async () => {
      if (keys.length === 0) return;
      await this.#inTurns(() => this.#removeStep({ ...closing, removed }, keys));
      removed += keys.length;
      keys = [];
    };
    const take = (row: ArchivedRow) => {
      if (position++ < closing.removed) return;
      keys.push(Object.values(row)[0] ?? "");
      return keys.length === STEP ? flush() : undefined;
    };
    const { contentHash } = await readArchive(folder, closing.archive, take, signal);
    if (contentHash !== closing.contentHash) throw new Error(`the archive ${closing.archive} was changed`);
    await flush();
    await this.#requireTotals();
    await endRemoval(database, closing);
  }

  async *#batches(columns: Awaited<ReturnType<ClosingSource["columns"]>>, month: Month) {
    const { database, processId } = this.#dependencies;
    const before = startOf(addMonths(month, 1));
    let position: string | undefined = this.#source.first;
    while (position !== undefined) {
      const from: string = position;
      const slice = await this.#inTurns(async () => {
        await renewLease(database, processId);
        return this.#source.read(database, columns, from, before);
      });
      yield slice.records;
      position = slice.next;
    }
  }

  /** Reads an archive as the disk has it, and sums it up. Throws unless it is what was written. */
  async #readBack(file: ArchiveFile): Promise<Totals> {
    const { folder, signal } = this.#dependencies;
    const totals: Record<string, bigint> = {};
    const add = (row: ArchivedRow) => {
      for (const [name, amount] of this.#source.amounts(row)) totals[name] = (totals[name] ?? 0n) + amount;
    };
    const read = await readArchive(folder, file.name, add, signal);
    if (read.rows !== file.rows || read.contentHash !== file.contentHash)
      throw new Error(`the archive ${file.name} cannot be read back as it was written`);
    return totals;
  }

  async #removeStep(closing: ClosedMonth, keys: readonly string[]): Promise<void> {
    const { database, processId, onRemoved } = this.#dependencies;
    const before = startOf(addMonths(closing.month, 1));
    await database.transaction(async (tx) => {
      await renewLease(tx, processId);
      await countRemoved(tx, closing, keys.length);
      const removed = await this.#source.remove(tx, keys, before);
      if (removed !== keys.length)
        throw new Error(`${keys.length - removed} ${closing.kind} rows of ${closing.archive} are not there`);
    });
    onRemoved(keys.length);
  }

  /** What was removed must sum to what the archives have. */
  async #requireTotals(): Promise<void> {
    const { database } = this.#dependencies;
    const expected: Record<string, bigint> = {};
    for (const { totals } of await listClosedMonths(database, this.#source.kind))
      for (const [name, sum] of Object.entries(totals)) expected[name] = (expected[name] ?? 0n) + sum;
    const removed = await this.#source.removedTotals(database);
    for (const name of new Set([...Object.keys(expected), ...Object.keys(removed)]))
      if ((expected[name] ?? 0n) !== (removed[name] ?? 0n))
        throw new Error(`the removed ${this.#source.kind} do not sum to the ${name} of their archives`);
  }

  /** Runs one slice, and leaves as much time to others. */
  async #inTurns<T>(slice: () => Promise<T>): Promise<T> {
    const { signal, maintain } = this.#dependencies;
    signal.throwIfAborted();
    const startedMs = performance.now();
    const result = await slice();
    if (++this.#slices % MAINTAIN_EVERY === 0) await maintain?.();
    await sleep(performance.now() - startedMs);
    return result;
  }
}
