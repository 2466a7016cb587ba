import type { Queries } from "../../db/database.ts";
import type { ArchiveFile } from "./archive-file.ts";
import { type ClosingKind, FIRST_HASH, hashOfMonth, type Month } from "./months.ts";

/** Sums over the rows of an archive, by name. */
export type Totals = Readonly<Record<string, bigint>>;

/** A month that was archived, and whose rows are removed or are being removed. */
export type ClosedMonth = {
  readonly kind: ClosingKind;
  readonly month: Month;
  readonly state: "removing" | "closed";
  readonly archive: string;
  readonly rows: number;
  readonly removed: number;
  readonly contentHash: string;
  readonly previousHash: string;
  readonly hash: string;
  readonly totals: Totals;
};

/** How long a process that does not answer keeps others from closing months. */
export const LEASE_SECONDS = 60;

/** Another process took the lease over, because this one did not renew it in time. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
}

/**
 * SQL: the time before which requests or transfers are removed or are being removed; `-infinity` if no month was closed.
 * Requests belong to the month of their end, rounded as in the ledger, so to the month of their payment.
 */
export function removedBefore(kind: ClosingKind): string {
  return `(select coalesce(max(c.ends_at), '-infinity') from closed_month c where c.kind = '${kind}')`;
}

/** The months that were closed, oldest first. */
export async function listClosedMonths(queries: Queries, kind: ClosingKind): Promise<readonly ClosedMonth[]> {
  const rows = await queries.rows<ClosedMonthRow>(LIST, [kind]);
  return rows.map((row) => ({
    ...{ kind, month: row.month, state: row.state, archive: row.archive },
    ...{ rows: Number(row.row_count), removed: Number(row.removed_count) },
    ...{ contentHash: row.content_hash, previousHash: row.previous_hash, hash: row.hash },
    totals: Object.fromEntries(Object.entries(row.totals).map(([name, sum]) => [name, BigInt(sum)])),
  }));
}

/** Records that the archive of a month is complete, so that its rows may be removed. */
export async function beginRemoval(
  queries: Queries,
  {
    kind,
    month,
    previous,
    file,
    totals,
  }: {
    readonly kind: ClosingKind;
    readonly month: Month;
    readonly previous: ClosedMonth | undefined;
    readonly file: ArchiveFile;
    readonly totals: Totals;
  },
): Promise<void> {
  const previousHash = previous?.hash ?? FIRST_HASH;
  const { name, rows, sizeBytes, contentHash } = file;
  const hash = hashOfMonth(previousHash, { kind, month, rows, contentHash });
  const sums = JSON.stringify(totals, (_, sum) => (typeof sum === "bigint" ? sum.toString() : sum));
  await queries.rows(BEGIN, [
    ...[kind, month, name, rows, sizeBytes, contentHash],
    ...[previousHash, hash, sums],
  ]);
}

/** Records that `count` more rows of a month are removed, in the transaction that removes them. */
export async function countRemoved(tx: Queries, closing: ClosedMonth, count: number): Promise<void> {
  const rows = await tx.rows(COUNT, [closing.kind, closing.month, closing.removed, count]);
  if (rows.length !== 1) throw new Error(`another process removes the ${closing.kind} of ${closing.month}`);
}

/** Ends the removal of a month, all of whose rows are removed. */
export async function endRemoval(queries: Queries, { kind, month }: ClosedMonth): Promise<void> {
  await queries.rows(END, [kind, month]);
}

/** Takes or renews the lease of the one process that closes months; false while another process has it. */
export async function takeLease(queries: Queries, processId: string): Promise<boolean> {
  return (await queries.rows(TAKE_LEASE, [processId])).length === 1;
}

/** Renews the lease, and keeps it locked until the end of the transaction. Throws `LeaseLostError` if it is lost. */
export async function renewLease(tx: Queries, processId: string): Promise<void> {
  const rows = await tx.rows(RENEW_LEASE, [processId]);
  if (rows.length !== 1) throw new LeaseLostError("another process closes months now");
}

/** Ends the lease of this process, if it has it. */
export async function endLease(queries: Queries, processId: string): Promise<void> {
  await queries.rows("delete from retention_lease where process_id = $1::uuid", [processId]);
}

type ClosedMonthRow = {
  readonly month: string;
  readonly state: "removing" | "closed";
  readonly archive: string;
  readonly row_count: string;
  readonly removed_count: string;
  readonly content_hash: string;
  readonly previous_hash: string;
  readonly hash: string;
  readonly totals: Readonly<Record<string, string>>;
};

const LIST = `
  select to_char(month, 'YYYY-MM') as month, state, archive, row_count::text as row_count,
    removed_count::text as removed_count, content_hash, previous_hash, hash, totals
  from closed_month c where kind = $1::text order by c.month`;

const BEGIN = `
  insert into closed_month (kind, month, ends_at, state, archive, row_count, size_bytes, content_hash, previous_hash,
    hash, totals)
  select $1::text, m.month, (m.month + interval '1 month') at time zone 'UTC', 'removing', $3::text, $4::bigint,
    $5::bigint, $6::text, $7::text, $8::text, $9::jsonb
  from (select ($2::text || '-01')::date as month) m`;

const COUNT = `
  update closed_month set removed_count = removed_count + $4::bigint
  where kind = $1::text and month = ($2::text || '-01')::date and state = 'removing' and removed_count = $3::bigint
  returning month`;

const END = `
  update closed_month set state = 'closed', closed_at = now()
  where kind = $1::text and month = ($2::text || '-01')::date and removed_count = row_count`;

const TAKE_LEASE = `
  insert into retention_lease as l (id, process_id, expires_at)
  values (1, $1::uuid, now() + interval '${LEASE_SECONDS} seconds')
  on conflict (id) do update set process_id = excluded.process_id, expires_at = excluded.expires_at
    where l.process_id = excluded.process_id or l.expires_at < now()
  returning id`;

const RENEW_LEASE = `
  update retention_lease set expires_at = now() + interval '${LEASE_SECONDS} seconds'
  where process_id = $1::uuid returning id`;
