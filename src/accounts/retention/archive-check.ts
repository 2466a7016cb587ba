import type { Queries } from "../../db/database.ts";
import type { LedgerFault } from "../ledger-checks.store.ts";
import { readArchive } from "./archive-file.ts";
import { type ClosedMonth, listClosedMonths } from "./closed-months.store.ts";
import type { ArchivedRow } from "./closing-source.ts";
import { readOpenings } from "./ledger-source.store.ts";
import { FIRST_HASH, hashOfMonth } from "./months.ts";
import { readRemovedCosts } from "./requests-source.store.ts";

/** What a verification of the archives found. */
export type ArchiveFaults = {
  readonly faults: readonly LedgerFault[];
  readonly months: number;
  readonly rows: number;
};

/** Called after each archive. */
export type ArchiveProgress = (closed: ClosedMonth) => void;

/** What the removed rows of one kind sum to, by a name, in the archives and in the database. */
type Check = {
  readonly kind: ClosedMonth["kind"];
  readonly fault: string;
  amounts(row: ArchivedRow): readonly (readonly [string, bigint])[];
  stored(queries: Queries): Promise<ReadonlyMap<string, bigint>>;
};

/**
 * Reads every archive in the folder: the content of each must match its stored hash, the hashes must form a chain, and
 * the rows must add up to the opening balance of each account and book, and to the removed costs of each key.
 */
export async function verifyArchives(
  queries: Queries,
  folder: string,
  onProgress: ArchiveProgress = () => {},
): Promise<ArchiveFaults> {
  const faults: LedgerFault[] = [];
  let months = 0;
  let rows = 0;
  for (const check of CHECKS) {
    const closed = await listClosedMonths(queries, check.kind);
    const sums = new Map<string, bigint>();
    let previousHash = FIRST_HASH;
    for (const month of closed) {
      if (month.previousHash !== previousHash || hashOfMonth(previousHash, month) !== month.hash)
        faults.push({
          fault: "the hash of a month does not follow the previous one",
          subject: month.archive,
        });
      previousHash = month.hash;
      const problem = await addArchive(folder, month, check, sums);
      if (problem) faults.push({ fault: problem, subject: month.archive });
      months++;
      rows += month.rows;
      onProgress(month);
    }
    faults.push(...differences(sums, await check.stored(queries), check.fault));
  }
  return { faults, months, rows };
}

/** Adds the removed rows of an archive to the sums by name. Returns what is wrong with it. */
async function addArchive(
  folder: string,
  month: ClosedMonth,
  { amounts }: Check,
  sums: Map<string, bigint>,
): Promise<string | undefined> {
  let position = 0;
  try {
    const read = await readArchive(folder, month.archive, (row) => {
      if (position++ >= month.removed) return;
      for (const [name, amount] of amounts(row)) sums.set(name, (sums.get(name) ?? 0n) + amount);
    });
    const isSame = read.contentHash === month.contentHash && read.rows === month.rows;
    return isSame ? undefined : "an archive was changed";
  } catch (error) {
    return `an archive cannot be read (${(error as Error).message})`;
  }
}

function differences(
  archived: ReadonlyMap<string, bigint>,
  stored: ReadonlyMap<string, bigint>,
  fault: string,
): readonly LedgerFault[] {
  const names = [...new Set([...archived.keys(), ...stored.keys()])];
  return names
    .filter((name) => (archived.get(name) ?? 0n) !== (stored.get(name) ?? 0n))
    .map((subject) => ({ fault, subject }));
}

const CHECKS: readonly Check[] = [
  {
    kind: "ledger",
    fault: "an opening balance is not the sum of the archived transfers",
    amounts: ({ account, from_book: from, to_book: to, amount }) => [
      [`${account} ${from}`, -BigInt(amount ?? 0)],
      [`${account} ${to}`, BigInt(amount ?? 0)],
    ],
    stored: readOpenings,
  },
  {
    kind: "requests",
    fault: "the removed costs of a key are not those of the archived requests",
    amounts: ({ account, api_key_id: key, total_cost: cost }) => [
      [`${account} ${key ?? ""}`, BigInt(cost ?? 0)],
    ],
    stored: readRemovedCosts,
  },
];
