import { randomUUID } from "node:crypto";
import type { Database } from "../db/database.ts";
import { readDatabaseTime } from "../db/database-clock.ts";
import { AppError } from "../kernel/errors.ts";
import { isShorterThan, type LedgerCheck, lastCheck, saveCheck } from "./ledger-check-result.store.ts";
import { type CheckProgress, findLedgerFaults, type LedgerFault } from "./ledger-checks.store.ts";
import {
  confirmVerified,
  lockVerification,
  type NewFaults,
  saveSums,
  verifyNewTransfers,
} from "./verified-ledger.store.ts";

export type { LedgerCheck } from "./ledger-check-result.store.ts";

/** The longest time of a statement of a check on demand, and the longest ledger of which it reads every row. */
const DEMAND_SECONDS = 20;
const MAX_DEMAND_TRANSFERS = 100_000;
/** A check on demand that ended so short ago is not repeated. */
const FRESH_MS = 10_000;

/** Verifies the ledger (P1, P2), and keeps the last result. No fault means that it is exact. */
export class LedgerService {
  readonly #database: Database;
  #demand: Promise<LedgerCheck> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Checks every row. */
  async verify(onProgress?: CheckProgress): Promise<{
    readonly faults: readonly LedgerFault[];
    readonly entries: number;
    readonly openHolds: number;
  }> {
    const startedMs = performance.now();
    const run = randomUUID();
    // Before the checks: what is added meanwhile is checked by the next verification.
    await this.#database.transaction(async (tx) => {
      await lockVerification(tx);
      await saveSums(tx, run);
    });
    const faults = await findLedgerFaults(this.#database, onProgress);
    if (faults.length === 0) await confirmVerified(this.#database, run);
    const [counts] = await this.#database.rows<{ entries: string; transfers: string; holds: string }>(COUNTS);
    const transfers = Number(counts?.transfers ?? 0);
    const durationMs = performance.now() - startedMs;
    await saveCheck(this.#database, { durationMs, isFull: true, transfers, faults });
    return { faults, entries: Number(counts?.entries ?? 0), openHolds: Number(counts?.holds ?? 0) };
  }

  /**
   * Checks the transfers since the last verification that found no fault, and all balances, keys, deposits and holds.
   * Undefined if there is none to continue from. Throws `unavailable` if its statement takes longer than `seconds`.
   */
  verifyNew({ seconds }: { readonly seconds?: number } = {}): Promise<NewFaults | undefined> {
    const startedMs = performance.now();
    return this.#database.transaction(async (tx) => {
      if (seconds !== undefined) await tx.rows(`set local statement_timeout = '${Math.ceil(seconds)}s'`);
      await lockVerification(tx);
      const found = await verifyNewTransfers(tx);
      const durationMs = performance.now() - startedMs;
      if (found) await saveCheck(tx, { ...found, durationMs, isFull: false });
      return found;
    });
  }

  /**
   * Checks what is new, and every row if that finds a fault or has nothing to continue from. Resolves with the faults of
   * the last check: the stored sums may be wrong and not the ledger, and a check of every row stores them again.
   */
  async findFaults(): Promise<readonly LedgerFault[]> {
    const found = await this.verifyNew();
    return found?.faults.length === 0 ? [] : (await this.verify()).faults;
  }

  /** The result of the last check by any process or command; undefined before the first. */
  last(): Promise<LedgerCheck | undefined> {
    return lastCheck(this.#database);
  }

  /**
   * Checks what is new, or every row of a short ledger that was never checked, and resolves with the result. Concurrent
   * callers share a check, and one that ended in the last 10 s is not repeated. Throws `unavailable` if it takes more
   * than 20 s, and `overloaded` for a long ledger that was never checked: only `ledger:verify` reads all of it.
   */
  checkNow(): Promise<LedgerCheck> {
    this.#demand ??= this.#checkNow().finally(() => {
      this.#demand = undefined;
    });
    return this.#demand;
  }

  async #checkNow(): Promise<LedgerCheck> {
    const known = await this.last();
    if (known && (await readDatabaseTime(this.#database)) - known.endedAt.getTime() < FRESH_MS) return known;
    const found = await this.verifyNew({ seconds: DEMAND_SECONDS });
    if (!found) {
      if (!(await isShorterThan(this.#database, MAX_DEMAND_TRANSFERS)))
        throw new AppError("overloaded", "Run `npm run ledger:verify` once: it reads the whole ledger.");
      await this.verify();
    }
    const result = await this.last();
    if (!result) throw new Error("the check of the ledger has no result");
    return result;
  }
}

// As text: a ledger may have more rows than an int4 counts.
const COUNTS = `
  select (select count(*)::text from ledger_entry) as entries,
    (select count(*)::text from ledger_transfer) as transfers,
    (select count(*)::text from hold where state = 'open') as holds`;
