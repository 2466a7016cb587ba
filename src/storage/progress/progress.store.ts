import type { Queries } from "../../db/database.ts";
import type { FileProgress } from "../../events/topics.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { NodeFile } from "../node/storage-node.ts";

/** The state of a file, as reported by the module that saw it change. */
export type ProgressUpdate = {
  readonly root: Hex;
  readonly status: FileProgress["status"];
  /** The submission of the file, null before there is one. */
  readonly txSeq: bigint | null;
  readonly segments: number;
  /** May be too low for a file that was just submitted: the stored count is never lowered then. */
  readonly uploadedSegments: number;
};

/** The state of a file, and the event that published it. */
export type StoredProgress = {
  readonly step: FileProgress;
  readonly eventId: string;
  readonly updatedAt: Date;
};

/**
 * Records the state of files, and an event for each change: a new status, a new submission, or another hundredth of the
 * file. An update older than the stored state (segments of a finalized file) is ignored. Of several updates of one root,
 * that of the furthest state counts.
 */
export async function recordProgress(
  tx: Queries,
  chainId: number,
  updates: readonly ProgressUpdate[],
): Promise<void> {
  if (updates.length === 0) return;
  const rows = furthest(updates).map(({ root, status, txSeq, segments, uploadedSegments }) => ({
    root,
    status,
    tx_seq: txSeq?.toString() ?? null,
    segments,
    uploaded: uploadedSegments,
  }));
  await tx.rows(RECORD, [chainId, JSON.stringify(rows)]);
}

/**
 * One update of each root, that of the furthest state. A root may have two files, since anyone can upload a segment
 * under a false size; a statement cannot write one row for both of them.
 */
function furthest(updates: readonly ProgressUpdate[]): readonly ProgressUpdate[] {
  const byRoot = new Map<Hex, ProgressUpdate>();
  for (const update of updates) {
    const known = byRoot.get(update.root);
    if (!known || isFurther(update, known)) byRoot.set(update.root, update);
  }
  return [...byRoot.values()];
}

const STATES: readonly FileProgress["status"][] = [
  "removed",
  "uploading",
  "submitted",
  "pruned",
  "finalized",
];

function isFurther(update: ProgressUpdate, known: ProgressUpdate): boolean {
  const states = STATES.indexOf(update.status) - STATES.indexOf(known.status);
  return states > 0 || (states === 0 && update.uploadedSegments > known.uploadedSegments);
}

/** The state of a file, as a node has it. */
export function progressOf(file: NodeFile): ProgressUpdate {
  const { root, txSeq, segments, uploadedSegments } = file;
  return { root, txSeq: txSeq ?? null, segments, uploadedSegments, status: statusOf(file) };
}

function statusOf({ pruned, finalized, txSeq }: NodeFile): FileProgress["status"] {
  if (pruned) return "pruned";
  if (finalized) return "finalized";
  return txSeq === undefined ? "uploading" : "submitted";
}

/** Marks files as removed whose submissions were reorged out and that have no other submission. */
export async function recordRemoved(tx: Queries, chainId: number, roots: readonly Hex[]): Promise<void> {
  if (roots.length > 0) await tx.rows(REMOVED, [chainId, JSON.stringify(roots)]);
}

/** Deletes at most `limit` abandoned files that had no event for a week; returns the count. */
export async function forgetProgress(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(FORGET, [limit])).length;
}

/** The state of a file; undefined for an unknown file. */
export async function readProgress(
  queries: Queries,
  chainId: number,
  root: Hex,
): Promise<StoredProgress | undefined> {
  const [row] = await queries.rows<ProgressRow>(READ, [chainId, root]);
  return row && { step: toStep(row), eventId: row.event_id, updatedAt: new Date(Number(row.updated_ms)) };
}

/** The position of the event of a file's state: `waiting` until it is published, `gone` once it is deleted. */
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

/** Publishes the rows of `changed` as events of topic `file.progressed`. */
const PUBLISH = `
  insert into outbox (event_id, topic, subject, data)
  select event_id, 'file.progressed', root, jsonb_build_object('root', root, 'sequence', sequence, 'status', status,
    'txSeq', tx_seq::text, 'segments', segments, 'uploadedSegments', uploaded_segments)
  from changed order by root`;

// The rows are locked by the upsert, in the order of their roots, before anything is compared.
const RECORD = `
  with reported as (
    select root, status, tx_seq, segments, uploaded
    from jsonb_to_recordset($2::text::jsonb)
      as a(root text, status text, tx_seq numeric, segments integer, uploaded integer)
    order by root
  ), changed as (
    insert into file_progress as known
      (chain_id, root, sequence, status, tx_seq, segments, uploaded_segments, event_id)
    select $1::bigint, root, 1, status, tx_seq, segments, uploaded, gen_random_uuid() from reported
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
  ) ${PUBLISH}`;

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
  ) ${PUBLISH}`;

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
