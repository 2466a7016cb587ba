import type { Queries } from "../../../db/database.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../../merkle/shape.ts";
import type { FileId, NodeFile } from "../storage-node.ts";

/** A file as the local node holds it. Without `heldId`, no segment of it was uploaded yet. */
export type HeldFile = NodeFile & {
  readonly heldId: string | undefined;
  readonly sectors: number;
  /** The number of segments to upload: trailing zeros need none. */
  readonly heldSegments: number;
};

/** A file with the generation of its lookup: it stays finalized while that generation is the newest. */
export type FoundFile = HeldFile & { readonly generation: bigint };

/** The file to look up: a size distinguishes files of one root that were submitted with different sizes. */
export type WantedFile = FileId & { readonly sizeBytes?: number | undefined };

/** For each wanted file, in order: its first submission that is complete here, else its first submission. */
export async function findHeld(
  queries: Queries,
  chainId: number,
  wanted: readonly WantedFile[],
): Promise<readonly (FoundFile | undefined)[]> {
  const lookups = wanted.map((file, at) => ({
    at,
    root: "root" in file ? file.root : null,
    tx_seq: "txSeq" in file ? file.txSeq.toString() : null,
    size_bytes: file.sizeBytes ?? null,
  }));
  const rows = await queries.rows<FoundRow>(FIND, [chainId, JSON.stringify(lookups)]);
  const found = new Map(
    rows.map((row) => [row.at, { ...toHeldFile(row), generation: BigInt(row.generation) }]),
  );
  return wanted.map((_, at) => found.get(at));
}

/** The current generation: see the migration that introduced it. */
export async function heldGeneration(queries: Queries): Promise<bigint> {
  const [row] = await queries.rows<{ generation: string }>(
    "select generation::text as generation from held_bytes",
  );
  return BigInt(row?.generation ?? 0);
}

/** Files by their held ids, in any order; deleted files are omitted. */
export async function heldById(
  queries: Queries,
  chainId: number,
  ids: readonly string[],
): Promise<readonly HeldFile[]> {
  return (await queries.rows<HeldRow>(FIND_BY_ID, [chainId, JSON.stringify(ids)])).map(toHeldFile);
}

type HeldRow = {
  root: Hex;
  size_bytes: string;
  sectors: string;
  tx_seq: string | null;
  start_entry_index: string | null;
  held_id: string | null;
  held_segments: number | null;
  uploaded: number;
  is_complete: boolean;
};

type FoundRow = HeldRow & { readonly at: number; readonly generation: string };

function toHeldFile(row: HeldRow): HeldFile {
  const sizeBytes = Number(row.size_bytes);
  const segments = Math.ceil(sizeBytes / SEGMENT_BYTES);
  return {
    root: row.root,
    sizeBytes,
    sectors: Number(row.sectors),
    heldId: row.held_id ?? undefined,
    heldSegments: row.held_segments ?? segments,
    txSeq: row.tx_seq === null ? undefined : BigInt(row.tx_seq),
    startEntryIndex: row.start_entry_index === null ? undefined : BigInt(row.start_entry_index),
    segments,
    uploadedSegments: row.is_complete ? segments : Math.min(row.uploaded, segments),
    finalized: row.is_complete && row.tx_seq !== null,
    isCached: row.uploaded > 0 && row.tx_seq === null,
    pruned: false,
  };
}

const SUBMITTED = `s.root, s.size_bytes::text as size_bytes, s.sectors::text as sectors, s.tx_seq::text as tx_seq,
  s.start_entry_index::text as start_entry_index, f.id::text as held_id, f.segments as held_segments,
  coalesce(f.uploaded, 0) as uploaded,
  f.complete_at is not null as is_complete`;
const UNSUBMITTED = `f.root, f.claimed_bytes::text as size_bytes, f.sectors::text as sectors, null as tx_seq,
  null as start_entry_index, f.id::text as held_id, f.segments as held_segments, f.uploaded, f.complete_at is not null as is_complete`;
const WITH_HELD = "left join held_file f on f.root = s.root and f.sectors = s.sectors";
/** Limited to the first thousand submissions of a root: anyone who pays may submit it again and again. */
const BY_ROOT = `
  select 1 as rank, ${SUBMITTED}
  from (
    select * from submission where chain_id = $1::bigint and root = wanted.root order by tx_seq limit 1000
  ) as s ${WITH_HELD}
  order by f.complete_at is null, coalesce(s.size_bytes <> wanted.size_bytes, false), s.tx_seq limit 1`;

const FIND = `
  select wanted.at, (select generation::text from held_bytes) as generation, found.*
  from jsonb_to_recordset($2::text::jsonb) as wanted(at int, root text, tx_seq numeric, size_bytes numeric)
  cross join lateral (
    select * from (
      (${BY_ROOT})
      union all
      (select 1 as rank, ${SUBMITTED} from submission s ${WITH_HELD}
        where s.chain_id = $1::bigint and s.tx_seq = wanted.tx_seq)
      union all
      (select 2 as rank, ${UNSUBMITTED} from held_file f where f.root = wanted.root
        order by coalesce(f.claimed_bytes <> wanted.size_bytes, false), f.uploaded desc limit 1)
    ) as candidate
    order by rank limit 1
  ) as found`;

const FIND_BY_ID = `
  select found.*
  from held_file f
  cross join lateral (
    select * from (
      (select 1 as rank, ${SUBMITTED} from submission s
        where s.chain_id = $1::bigint and s.root = f.root and s.sectors = f.sectors order by s.tx_seq limit 1)
      union all
      (select 2 as rank, ${UNSUBMITTED})
    ) as candidate
    order by rank limit 1
  ) as found
  where f.id in (select value::bigint from jsonb_array_elements_text($2::text::jsonb))`;
