import { randomUUID } from "node:crypto";
import type { Database } from "../db/database.ts";
import { type CheckProgress, findLedgerFaults, type LedgerFault } from "./ledger-checks.store.ts";
import {
  confirmVerified,
  lockVerification,
  type NewFaults,
  saveSums,
  verifyNewTransfers,
} from "./verified-ledger.store.ts";

/** Verifies the ledger (P1, P2). No fault means that it is exact. */
export class LedgerService {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Checks every row. */
  async verify(onProgress?: CheckProgress): Promise<{
    readonly faults: readonly LedgerFault[];
    readonly entries: number;
    readonly openHolds: number;
  }> {
    const run = randomUUID();
    // Before the checks: what is added meanwhile is checked by the next verification.
    await this.#database.transaction(async (tx) => {
      await lockVerification(tx);
      await saveSums(tx, run);
    });
    const faults = await findLedgerFaults(this.#database, onProgress);
    if (faults.length === 0) await confirmVerified(this.#database, run);
    const [counts] = await this.#database.rows<{ entries: number; holds: number }>(COUNTS);
    return { faults, entries: counts?.entries ?? 0, openHolds: counts?.holds ?? 0 };
  }

  /**
   * Checks the transfers since the last verification that found no fault, and all balances, keys, deposits and holds.
   * Undefined if there is none to continue from.
   */
  verifyNew(): Promise<NewFaults | undefined> {
    return this.#database.transaction(async (tx) => {
      await lockVerification(tx);
      return verifyNewTransfers(tx);
    });
  }
}

const COUNTS = `
  select (select count(*)::int from ledger_entry) as entries,
    (select count(*)::int from hold where state = 'open') as holds`;
