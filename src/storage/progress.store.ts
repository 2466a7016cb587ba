import type { Queries } from "../db/database.ts";
import type { FileProgress } from "../events/topics.ts";
import type { Hex } from "../kernel/text/hex.ts";

/** How a file stands, as whoever saw it change tells it. */
export type ProgressNote = {
  readonly root: Hex;
  readonly status: FileProgress["status"];
  /** The submission that is meant, null before there is one. */
  readonly txSeq: bigint | null;
  readonly segments: number;
  /** Of a file that was submitted now it may be told as too few: what is known already stays. */
  readonly uploadedSegments: number;
};

/** How a file stands, and the event that told so. */
export type StoredProgress = {
  readonly step: FileProgress;
  readonly eventId: string;
  readonly updatedAt: Date;
};

/**
 * Writes how files stand, and an event for each that is news: another status, another submission, or a hundredth of the
 * file more. A note that is behind what is known already (segments of a file that is finalized) is none.
 */
export async function recordProgress(
  tx: Queries,
  chainId: number,
  notes: readonly ProgressNote[],
): Promise<void> {
  if (notes.length === 0) return;
  const asked = notes.map(({ root, status, txSeq, segments, uploadedSegments }) => ({
    root,
    status,
    tx_seq: txSeq?.toString() ?? null,
    segments,
    uploaded: uploadedSegments,
  }));
  await tx.rows(NOTE, [chainId, JSON.stringify(asked)]);
}

/** Of files whose submissions were taken back, writes that those without any left are off the chain. */
export async function recordRemoved(tx: Queries, chainId: number, roots: readonly Hex[]): Promise<void> {
  if (roots.length > 0) await tx.rows(REMOVED, [chainId, JSON.stringify(roots)]);
}

/** Deletes at most `limit` files that came to nothing and had no event for a week; returns how many. */
export async function forgetProgress(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(FORGET, [limit])).length;
}

/** How a file stands; undefined for one that was never heard of. */
export async function readProgress(
  queries: Queries,
  chainId: number,
  root: Hex,
): Promise<StoredProgress | undefined> {
  const [row] = await queries.rows<ProgressRow>(READ, [chainId, root]);
  return row && { step: toStep(row), eventId: row.event_id, updatedAt: new Date(Number(row.updated_ms)) };
}

/** The position of the event that told how a file stands, while it is kept and once it is published. */
export async function progressPosition(
  queries: Queries,
  root: Hex,
  eventId: string,
): Promise<bigint | "waiting" | "gone"> {
  const [row] = await queries.rows<{ position: string | null }>(POSITION, [root, eventId]);
  if (!row) return "gone";
  return row.position === null ? "waiting" : BigInt(row.position);
}

type ProgressRow = {
  readonly root: Hex;
  readonly sequence: number;
  readonly status: FileProgress["status"];
  readonly tx_seq: string | null;
  readonly segments: number;
  readonly uploaded_segments: number;
  readonly event_id: string;
  readonly updated_ms: string;
};

function toStep(row: ProgressRow): FileProgress {
  return {
    root: row.root,
    sequence: row.sequence,
    status: row.status,
    txSeq: row.tx_seq,
    segments: row.segments,
    uploadedSegments: row.uploaded_segments,
  };
}

/** What is written of a row that changed, as events of topic `file.progressed`. */
const TELL = `
  insert into outbox (event_id, topic, subject, data)
  select event_id, 'file.progressed', root, jsonb_build_object('root', root, 'sequence', sequence, 'status', status,
    'txSeq', tx_seq::text, 'segments', segments, 'uploadedSegments', uploaded_segments)
  from changed order by root`;

// The rows are locked by the upsert, in the order of their roots, before anything is compared.
const NOTE = `
  with asked as (
    select root, status, tx_seq, segments, uploaded
    from jsonb_to_recordset($2::text::jsonb)
      as a(root text, status text, tx_seq numeric, segments integer, uploaded integer)
    order by root
  ), changed as (
    insert into file_progress as known
      (chain_id, root, sequence, status, tx_seq, segments, uploaded_segments, event_id)
    select $1::bigint, root, 1, status, tx_seq, segments, uploaded, gen_random_uuid() from asked
    on conflict (chain_id, root) do update set
      sequence = known.sequence + 1,
      status = excluded.status,
      tx_seq = excluded.tx_seq,
      segments = excluded.segments,
      uploaded_segments = case when excluded.status = 'submitted'
        then greatest(known.uploaded_segments, excluded.uploaded_segments) else excluded.uploaded_segments end,
      event_id = gen_random_uuid(),
      updated_at = now()
    where known.status is distinct from excluded.status
      and not (known.status = 'finalized' and excluded.status in ('uploading', 'submitted'))
      or known.status = excluded.status and (
        known.tx_seq is distinct from excluded.tx_seq and known.status <> 'finalized'
        or excluded.uploaded_segments - known.uploaded_segments >= greatest(1, known.segments / 100)
        or excluded.uploaded_segments = excluded.segments and known.uploaded_segments < excluded.segments
      )
    returning *
  ) ${TELL}`;

const REMOVED = `
  with changed as (
    update file_progress set sequence = sequence + 1, status = 'removed', tx_seq = null,
      event_id = gen_random_uuid(), updated_at = now()
    where chain_id = $1::bigint and root in (select jsonb_array_elements_text($2::text::jsonb))
      and status <> 'removed'
      and not exists (
        select 1 from submission where submission.chain_id = $1::bigint and submission.root = file_progress.root
      )
    returning *
  ) ${TELL}`;

const FORGET = `
  delete from file_progress where (chain_id, root) in (
    select chain_id, root from file_progress
    where status in ('uploading', 'removed') and updated_at < now() - interval '7 days'
    order by updated_at limit $1::integer for update skip locked
  ) returning 1`;

const READ = `
  select root, sequence, status, tx_seq::text as tx_seq, segments, uploaded_segments, event_id::text as event_id,
    floor(extract(epoch from updated_at) * 1000)::bigint::text as updated_ms
  from file_progress where chain_id = $1::bigint and root = $2::text`;

const POSITION = `
  select position::text as position from outbox
  where topic = 'file.progressed' and subject = $1::text and event_id = $2::uuid and position is not null
  union all
  select null from outbox where event_id = $2::uuid and position is null`;
