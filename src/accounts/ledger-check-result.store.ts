import type { Queries } from "../db/database.ts";
import type { LedgerFault } from "./ledger-checks.store.ts";

/** The result of a check of the ledger. */
export type LedgerCheck = {
  readonly endedAt: Date;
  readonly durationMs: number;
  /** Whether every row was read, and not only what was added since the last check without a fault. */
  readonly isFull: boolean;
  /** How many transfers it read. */
  readonly transfers: number;
  readonly faultCount: number;
  /** The first 20 of the faults. */
  readonly faults: readonly LedgerFault[];
};

const MAX_FAULTS = 20;
const MAX_SUBJECT_LENGTH = 200;

/** Keeps the result of the last check. */
export async function saveCheck(
  queries: Queries,
  check: {
    readonly durationMs: number;
    readonly isFull: boolean;
    readonly transfers: number;
    readonly faults: readonly LedgerFault[];
  },
): Promise<void> {
  const { durationMs, isFull, transfers, faults } = check;
  const kept = faults.slice(0, MAX_FAULTS).map(({ fault, subject }) => ({
    fault,
    subject: subject.slice(0, MAX_SUBJECT_LENGTH),
  }));
  await queries.rows(SAVE, [Math.round(durationMs), isFull, transfers, faults.length, JSON.stringify(kept)]);
}

/** The result of the last check; undefined before the first. */
export async function lastCheck(queries: Queries): Promise<LedgerCheck | undefined> {
  const [row] = await queries.rows<CheckRow>(LAST);
  return (
    row && {
      endedAt: new Date(Number(row.ended_ms)),
      durationMs: row.duration_ms,
      isFull: row.is_full,
      transfers: Number(row.transfers),
      faultCount: row.fault_count,
      faults: JSON.parse(row.faults) as LedgerFault[],
    }
  );
}

/** Whether the ledger is short enough for a check of every row on demand: transfers, by their greatest ids. */
export async function isShorterThan(queries: Queries, transfers: number): Promise<boolean> {
  const [row] = await queries.rows<{ greatest: string }>(GREATEST);
  return BigInt(row?.greatest ?? 0) < BigInt(transfers);
}

type CheckRow = {
  readonly ended_ms: string;
  readonly duration_ms: number;
  readonly is_full: boolean;
  readonly transfers: string;
  readonly fault_count: number;
  readonly faults: string;
};

const SAVE = `
  insert into ledger_check (id, ended_at, duration_ms, is_full, transfers, fault_count, faults)
  values (1, now(), $1::integer, $2::boolean, $3::bigint, $4::integer, $5::text::jsonb)
  on conflict (id) do update set ended_at = excluded.ended_at, duration_ms = excluded.duration_ms,
    is_full = excluded.is_full, transfers = excluded.transfers, fault_count = excluded.fault_count,
    faults = excluded.faults`;

const LAST = `
  select floor(extract(epoch from ended_at) * 1000)::bigint::text as ended_ms, duration_ms, is_full,
    transfers::text as transfers, fault_count, faults::text as faults
  from ledger_check`;

const GREATEST = `
  select greatest((select coalesce(max(id), 0) from ledger_transfer),
    (select coalesce(max(id), 0) from earlier_ledger_entry))::text as greatest`;
