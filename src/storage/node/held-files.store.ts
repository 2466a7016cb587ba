import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../merkle/shape.ts";
import type { FileId, NodeFile } from "./storage-node.ts";

/** A file as our node holds it. Without `heldId` nothing of it came yet. */
export type HeldFile = NodeFile & {
  readonly heldId: string | undefined;
  readonly sectors: number;
  /** How many segments are needed of it: the zeros behind the last of them need none. */
  readonly heldSegments: number;
};

/** One that was looked up, with the generation of the look-up: while that is the newest, a finalized file stays one. */
export type FoundFile = HeldFile & { readonly generation: bigint };

/** Which file a segment is for: a size tells files of one root apart that were submitted with different ones. */
export type WantedFile = FileId & { readonly sizeBytes?: number | undefined };

/** For each wanted file, in their order: the first submission of it that is complete here, else the first. */
export async function findHeld(
  queries: Queries,
  chainId: number,
  wanted: readonly WantedFile[],
): Promise<readonly (FoundFile | undefined)[]> {
  const asked = wanted.map((file, at) => ({
    at,
    root: "root" in file ? file.root : null,
    tx_seq: "txSeq" in file ? file.txSeq.toString() : null,
    size_bytes: file.sizeBytes ?? null,
  }));
  const rows = await queries.rows<FoundRow>(FIND, [chainId, JSON.stringify(asked)]);
  const found = new Map(
    rows.map((row) => [row.at, { ...toHeldFile(row), generation: BigInt(row.generation) }]),
  );
  return wanted.map((_, at) => found.get(at));
}

/** The generation of now: see the migration that brought it. */
export async function heldGeneration(queries: Queries): Promise<bigint> {
  const [row] = await queries.rows<{ generation: string }>(
    "select generation::text as generation from held_bytes",
  );
  return BigInt(row?.generation ?? 0);
}

/** Files by their ids here, in any order; those that are gone are missing. */
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
/** Of one root, the first thousand submissions are looked at: each was paid for, and whoever pays may repeat it. */
const BY_ROOT = `
  select 1 as rank, ${SUBMITTED}
  from (
    select * from submission where chain_id = $1::bigint and root = asked.root order by tx_seq limit 1000
  ) as s ${WITH_HELD}
  order by f.complete_at is null, coalesce(s.size_bytes <> asked.size_bytes, false), s.tx_seq limit 1`;

const FIND = `
  select asked.at, (select generation::text from held_bytes) as generation, found.*
  from jsonb_to_recordset($2::text::jsonb) as asked(at int, root text, tx_seq numeric, size_bytes numeric)
  cross join lateral (
    select * from (
      (${BY_ROOT})
      union all
      (select 1 as rank, ${SUBMITTED} from submission s ${WITH_HELD}
        where s.chain_id = $1::bigint and s.tx_seq = asked.tx_seq)
      union all
      (select 2 as rank, ${UNSUBMITTED} from held_file f where f.root = asked.root
        order by coalesce(f.claimed_bytes <> asked.size_bytes, false), f.uploaded desc limit 1)
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
