import type { Database } from "../db/database.ts";
import { findLedgerFaults } from "./ledger.store.ts";

/** An inconsistency of the ledger: what is wrong, and with which transfer, account, deposit or request. */
export type LedgerFault = { readonly fault: string; readonly subject: string };

/** Verifies the ledger as a whole. */
export class LedgerService {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Checks every promise of the ledger (P1, P2) against every row. No fault means that the ledger is exact. */
  async verify(): Promise<{
    readonly faults: readonly LedgerFault[];
    readonly entries: number;
    readonly openHolds: number;
  }> {
    const faults = await findLedgerFaults(this.#database);
    const [counts] = await this.#database.rows<{ entries: number; holds: number }>(COUNTS);
    return { faults, entries: counts?.entries ?? 0, openHolds: counts?.holds ?? 0 };
  }
}

const COUNTS = `
  select (select count(*)::int from ledger_entry) as entries,
    (select count(*)::int from hold where state = 'open') as holds`;
