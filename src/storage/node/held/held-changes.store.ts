import type { Queries } from "../../../db/database.ts";
import type { Hex } from "../../../kernel/text/hex.ts";

/** A segment on the disk. `proven` is the number of segments of its file, given with the last segment. */
export type WrittenSegment = {
  readonly heldId: string;
  readonly index: number;
  readonly bytes: number;
  readonly proven: number | undefined;
};

/** Bytes on the disk: of all files, and of files without a submission on the chain. */
export type HeldBytes = { readonly all: number; readonly unsubmitted: number };

/** Inserts a file before its first segment is written. Idempotent: returns the id of the existing file. */
export async function holdFile(
  queries: Queries,
  file: {
    readonly root: Hex;
    readonly sectors: number;
    readonly sizeBytes: number;
    readonly isSubmitted: boolean;
  },
): Promise<string> {
  const parameters = [file.root, file.sectors, file.sizeBytes, file.isSubmitted];
  const [row] = await queries.rows<{ id: string }>(HOLD, parameters);
  if (!row) throw new Error("a held file was neither inserted nor found");
  return row.id;
}

export async function heldBytes(queries: Queries): Promise<HeldBytes> {
  const [row] = await queries.rows<{ bytes: string; unsubmitted: string }>(
    "select bytes::text as bytes, unsubmitted::text as unsubmitted from held_bytes",
  );
  return { all: Number(row?.bytes), unsubmitted: Number(row?.unsubmitted) };
}

/**
 * Records segments that are on the disk, and which files they complete, in the same transaction as the events about
 * them. Returns the new segments as `id:index`, without those of deleted files.
 */
export async function recordSegments(
  tx: Queries,
  segments: readonly WrittenSegment[],
): Promise<ReadonlySet<string>> {
  const written = JSON.stringify(
    segments.map(({ heldId, index, bytes, proven }) => ({ file_id: heldId, index, bytes, proven })),
  );
  await tx.rows(LOCK, [written]);
  const added = await tx.rows<{ file_id: string; index: number }>(ADD_SEGMENTS, [written]);
  const keys = added.map(({ file_id, index }) => ({ file_id, index }));
  await tx.rows(COUNT, [written, JSON.stringify(keys)]);
  await tx.rows(COMPLETE, [written]);
  return new Set(added.map(({ file_id, index }) => `${file_id}:${index}`));
}
/** Marks files as submitted, so that they are not swept. Returns the ids of those that are complete. */
export async function linkSubmissions(
  tx: Queries,
  files: readonly { readonly root: Hex; readonly sectors: bigint }[],
): Promise<readonly string[]> {
  const submitted = files.map(({ root, sectors }) => ({ root, sectors: sectors.toString() }));
  return idsOf(await tx.rows<{ id: string }>(LINK, [JSON.stringify(submitted)]));
}

/** Marks submitted files that the submission's transaction could not see. Returns the ids of complete files. */
export async function linkOverlooked(tx: Queries, chainId: number): Promise<readonly string[]> {
  return idsOf(await tx.rows<{ id: string }>(LINK_OVERLOOKED, [chainId]));
}

/** Handles reorged-out submissions: files without any other submission count as unsubmitted from now on. */
export async function unlinkSubmissions(tx: Queries, chainId: number, roots: readonly Hex[]): Promise<void> {
  await tx.rows(UNLINK, [chainId, JSON.stringify(roots)]);
}

/** Locks at most `limit` files not submitted within `hours` of their last segment. Returns their ids and roots. */
export async function lockUnsubmitted(
  tx: Queries,
  { chainId, hours, limit }: { readonly chainId: number; readonly hours: number; readonly limit: number },
): Promise<readonly { readonly id: string; readonly root: Hex }[]> {
  return tx.rows<{ id: string; root: Hex }>(LOCK_UNSUBMITTED, [chainId, hours, limit]);
}

/** Deletes files without a submission, which the transaction has locked. */
export async function forgetUnsubmitted(tx: Queries, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.rows(FORGET, [JSON.stringify(ids)]);
}

/** Locks a file until the transaction ends: no segment of it is recorded meanwhile. */
export async function lockHeld(tx: Queries, heldId: string): Promise<void> {
  await tx.rows("select id from held_file where id = $1::bigint for update", [heldId]);
}

/** Drops a damaged segment and all segments from `from` on: the file is incomplete until they are uploaded again. */
export async function dropSegments(
  queries: Queries,
  heldId: string,
  { index, from }: { readonly index: number; readonly from: number },
): Promise<void> {
  await queries.rows(DROP, [heldId, index, from]);
}

function idsOf(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map(({ id }) => id);
}

const HOLD = `
  with inserted as (
    insert into held_file (root, sectors, claimed_bytes, unsubmitted_since)
    values ($1, $2::bigint, $3::bigint, case when $4::boolean then null else now() end)
    on conflict (root, sectors) do update set root = excluded.root
    returning id
  )
  select id::text as id from inserted`;

const WRITTEN = `jsonb_to_recordset($1::text::jsonb) as written(file_id bigint, index int, bytes int, proven int)`;
const WRITTEN_FILES = `select file_id from ${WRITTEN}`;

/** Files are locked in the order of their ids, here and wherever several are locked. */
const LOCK = `select id from held_file where id in (${WRITTEN_FILES}) order by id for update`;

const ADD_SEGMENTS = `
  insert into held_segment (file_id, index, bytes)
  select distinct on (file_id, index) file_id, index, written.bytes from ${WRITTEN} join held_file f on f.id = file_id
  on conflict do nothing
  returning file_id::text as file_id, index`;

/** The last segment proves the count: a smaller proven count wins, since everything after it is empty. */
const COUNT = `
  with written as (select * from ${WRITTEN}),
  added as (
    select a.file_id, count(*)::int as segments, sum(written.bytes)::bigint as bytes
    from jsonb_to_recordset($2::text::jsonb) as a(file_id bigint, index int)
    join (select distinct on (file_id, index) * from written) as written using (file_id, index)
    group by a.file_id
  ),
  proven as (select file_id, min(proven) as segments from written group by file_id),
  counted as (
    update held_file f
    set uploaded = f.uploaded + coalesce(added.segments, 0), bytes = f.bytes + coalesce(added.bytes, 0),
      segments = least(f.segments, proven.segments),
      unsubmitted_since = case when f.unsubmitted_since is null then null else now() end
    from proven left join added on added.file_id = proven.file_id
    where f.id = proven.file_id
    returning coalesce(added.bytes, 0) as bytes, f.unsubmitted_since is not null as is_unsubmitted
  )
  update held_bytes
  set bytes = held_bytes.bytes + (select coalesce(sum(bytes), 0) from counted),
    unsubmitted = unsubmitted + (select coalesce(sum(bytes), 0) from counted where is_unsubmitted)`;

/** Of two files of one root, the earlier submission takes precedence once complete: a new generation begins. */
const COMPLETE = `
  with completed as (
    update held_file f set complete_at = now()
    where f.id in (${WRITTEN_FILES}) and f.complete_at is null and f.uploaded >= f.segments
      and (select count(*) from held_segment s where s.file_id = f.id and s.index < f.segments) = f.segments
    returning f.id, f.root
  )
  update held_bytes set generation = generation + 1
  where exists (select 1 from completed join held_file other on other.root = completed.root and other.id <> completed.id)`;

const LINKED = `
  linked as (
    update held_file f set unsubmitted_since = null from waiting where f.id = waiting.id
    returning f.id, f.bytes, f.complete_at
  ),
  counted as (
    update held_bytes set unsubmitted = unsubmitted - (select coalesce(sum(bytes), 0) from linked)
    where exists (select 1 from linked)
  )
  select id::text as id from linked where complete_at is not null`;

const LINK = `
  with waiting as (
    select f.id from held_file f
    join jsonb_to_recordset($1::text::jsonb) as submitted(root text, sectors bigint)
      on f.root = submitted.root and f.sectors = submitted.sectors
    where f.unsubmitted_since is not null
    order by f.id for update of f
  ),
  ${LINKED}`;

const LINK_OVERLOOKED = `
  with waiting as (
    select f.id from held_file f
    where f.unsubmitted_since is not null and exists (
      select 1 from submission s
      where s.chain_id = $1::bigint and s.root = f.root and s.sectors = f.sectors
    )
    order by f.id limit 1000 for update
  ),
  ${LINKED}`;

const UNLINK = `
  with lone as (
    select f.id from held_file f
    where f.root in (select jsonb_array_elements_text($2::text::jsonb)) and f.unsubmitted_since is null
      and not exists (
        select 1 from submission s
        where s.chain_id = $1::bigint and s.root = f.root and s.sectors = f.sectors
      )
    order by f.id for update
  ),
  unlinked as (
    update held_file f set unsubmitted_since = now() from lone where f.id = lone.id returning f.bytes
  )
  update held_bytes
  set unsubmitted = unsubmitted + (select coalesce(sum(bytes), 0) from unlinked), generation = generation + 1`;

const LOCK_UNSUBMITTED = `
  select f.id::text as id, f.root from held_file f
  where f.unsubmitted_since < now() - make_interval(hours => $2::int) and not exists (
    select 1 from submission s
    where s.chain_id = $1::bigint and s.root = f.root and s.sectors = f.sectors
  )
  order by f.id limit $3::int for update of f`;

const FORGET = `
  with gone as (
    delete from held_file f
    where f.id in (select value::bigint from jsonb_array_elements_text($1::text::jsonb)) returning f.bytes
  )
  update held_bytes set bytes = held_bytes.bytes - (select coalesce(sum(bytes), 0) from gone),
    unsubmitted = unsubmitted - (select coalesce(sum(bytes), 0) from gone)`;

const DROP = `
  with locked as (
    select id from held_file where id = $1::bigint for update
  ),
  gone as (
    delete from held_segment s using locked
    where s.file_id = locked.id and (s.index = $2::int or s.index >= $3::int) returning s.bytes
  ),
  counted as (
    update held_file f
    set uploaded = uploaded - (select count(*) from gone), bytes = f.bytes - (select coalesce(sum(bytes), 0) from gone),
      complete_at = null
    where f.id = $1::bigint
    returning (select coalesce(sum(bytes), 0) from gone) as bytes, f.unsubmitted_since is not null as is_unsubmitted
  )
  update held_bytes
  set bytes = held_bytes.bytes - (select coalesce(sum(bytes), 0) from counted), generation = generation + 1,
    unsubmitted = unsubmitted - (select coalesce(sum(bytes), 0) from counted where is_unsubmitted)`;
