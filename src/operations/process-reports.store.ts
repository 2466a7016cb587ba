import type { Queries } from "../db/database.ts";
import { NOW_MS } from "../db/database-clock.ts";
import type { ProcessReport, ServiceProcess } from "./process-report.ts";

/** More processes are not listed. */
const MAX_LISTED = 500;
/** A process that has not reported for this long, and did not report its end, is no longer listed. */
const FORGOTTEN_SECONDS = 3_600;

/**
 * Writes what a process reports of itself, and forgets the processes that have not reported for an hour. Returns the
 * database's time as Unix milliseconds.
 */
export async function writeReport(
  queries: Queries,
  process: { readonly id: string; readonly startedAt: Date },
  report: ProcessReport,
): Promise<number> {
  const values = [process.id, process.startedAt.toISOString(), JSON.stringify(report)];
  const [row] = await queries.rows<{ now_ms: string }>(WRITE, values);
  return Number(row?.now_ms);
}

/** Removes what a process reported, at its end. */
export async function removeReport(queries: Queries, id: string): Promise<void> {
  await queries.rows("delete from process_report where id = $1::uuid", [id]);
}

/** The processes that reported in the last hour, oldest first, at most 500. */
export async function readReports(queries: Queries): Promise<readonly ServiceProcess[]> {
  const rows = await queries.rows<ReportRow>(READ);
  return rows.map((row) => ({
    id: row.id,
    startedAt: new Date(Number(row.started_ms)),
    reportedAt: new Date(Number(row.reported_ms)),
    isSilent: row.is_silent,
    ...(JSON.parse(row.report) as ProcessReport),
  }));
}

/** Seconds without a report after which a process counts as silent: it hangs, was killed, or cannot write. */
export const SILENT_SECONDS = 20;

type ReportRow = {
  readonly id: string;
  readonly started_ms: string;
  readonly reported_ms: string;
  readonly is_silent: boolean;
  readonly report: string;
};

// The table has one row for each process, so neither statement needs an index besides its key.
const WRITE = `
  with gone as (
    delete from process_report where reported_at < now() - interval '${FORGOTTEN_SECONDS} seconds' and id <> $1::uuid
  )
  insert into process_report (id, started_at, reported_at, report)
  values ($1::uuid, $2::timestamptz, now(), $3::text::jsonb)
  on conflict (id) do update set reported_at = excluded.reported_at, report = excluded.report
  returning ${NOW_MS}`;

const READ = `
  select id::text as id, floor(extract(epoch from started_at) * 1000)::bigint::text as started_ms,
    floor(extract(epoch from reported_at) * 1000)::bigint::text as reported_ms,
    reported_at < now() - interval '${SILENT_SECONDS} seconds' as is_silent, report::text as report
  from process_report where reported_at >= now() - interval '${FORGOTTEN_SECONDS} seconds'
  order by started_at, id limit ${MAX_LISTED}`;
