import type { Queries } from "../../db/database.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  encodeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  toPage,
} from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { StreamKey } from "./stream-data.ts";

/** A key at one version. A small value is included, a larger one is in the file `root` at `offset`. */
export type StoredEntry = StreamKey & {
  /** The sequence number of the transaction that wrote it. */
  readonly version: bigint;
  /** 0 for a deleted key. */
  readonly sizeBytes: number;
  readonly offset: number;
  readonly value: Buffer | undefined;
  readonly root: Hex;
  readonly encryptionHeader: Buffer | undefined;
  readonly cursor: string;
};

/** Where to search for the next key: in a stream as of `version`, up or down from a key. */
export type Neighbourhood = {
  readonly streamId: Hex;
  readonly version: bigint;
  readonly direction: "up" | "down";
  /** Where to begin; by default at the first key, or at the last for `down`. */
  readonly from?: { readonly key: Buffer; readonly isInclusive: boolean } | undefined;
  /** Only keys with this prefix. */
  readonly prefix?: Buffer | undefined;
};

/** A key as of a version, including a deleted one; undefined if it was not written by then. */
export async function findEntry(
  queries: Queries,
  chainId: number,
  { streamId, key, version }: StreamKey & { readonly version: bigint },
): Promise<StoredEntry | undefined> {
  const parameters = [chainId, streamId, version.toString(), key.toString("base64")];
  return (await queries.rows<EntryRow>(ENTRY, parameters)).map(toEntry)[0];
}

/**
 * The nearest keys in a direction, nearest first, without deleted ones; at most `limit`, and fewer after 4 MiB of keys
 * and values or 20,000 visited keys. Throws `unavailable` when all visited keys were deleted.
 */
export async function findNeighbours(
  queries: Queries,
  chainId: number,
  where: Neighbourhood,
  limit: number,
): Promise<readonly StoredEntry[]> {
  return (await walkFrom(queries, chainId, where, limit)).found;
}

/** `isCut`: the walk ended before its `limit`, and more keys may follow. */
async function walkFrom(
  queries: Queries,
  chainId: number,
  { streamId, version, direction, from, prefix }: Neighbourhood,
  limit: number,
): Promise<{ readonly found: readonly StoredEntry[]; readonly isCut: boolean }> {
  const parameters: (string | number)[] = [chainId, streamId, version.toString(), limit];
  const bytes = (value: Buffer) => `decode($${parameters.push(value.toString("base64"))}::text, 'base64')`;
  const within = prefix && prefix.length > 0 ? withPrefix(prefix, bytes) : [];
  const start = from ? [beyond(direction, from.isInclusive, bytes(from.key))] : [];
  const rows = await queries.rows<WalkRow>(walk(direction, start, within), parameters);
  const found = rows.filter(({ size_bytes }) => size_bytes !== "0").slice(0, limit);
  const isCut = found.length < limit && rows.some(({ is_last }) => is_last);
  if (isCut && found.length === 0)
    throw new AppError(
      "unavailable",
      "Too many deleted keys are in this range. Start from a key after them, or read an earlier version.",
    );
  return { found: found.map(toEntry), isCut };
}

/** A page of a stream's keys, ascending or descending. Throws `invalid_cursor`, also when its write was reorged out. */
export async function listEntries(
  queries: Queries,
  chainId: number,
  where: Omit<Neighbourhood, "from">,
  page: PageRequest,
): Promise<Page<StoredEntry>> {
  const limit = pageLimit(page);
  const key = await keyAt(queries, chainId, where.streamId, page);
  const from = key && { key, isInclusive: false };
  const direction = "last" in page ? OPPOSITE[where.direction] : where.direction;
  const { found, isCut } = await walkFrom(queries, chainId, { ...where, direction, from }, limit);
  const { rows, hasNextPage, hasPreviousPage } = toPage(found, page);
  // A page that was cut short continues on the side to which the walk went.
  return "last" in page
    ? { rows, hasNextPage, hasPreviousPage: hasPreviousPage || isCut }
    : { rows, hasNextPage: hasNextPage || isCut, hasPreviousPage };
}

/** The list of keys, in its cursors. */
const LIST = "kv-entries";

const OPPOSITE = { up: "down", down: "up" } as const;

/** A cursor holds a write's transaction and place in it, since a key may be too long for a cursor. */
async function keyAt(
  queries: Queries,
  chainId: number,
  streamId: Hex,
  page: PageRequest,
): Promise<Buffer | undefined> {
  const place = readPageCursor(page, LIST, 2);
  if (!place) return undefined;
  const [version = "", ordinal = ""] = place;
  const isPlace = /^\d{1,20}$/.test(version) && /^\d{1,5}$/.test(ordinal);
  const rows = isPlace
    ? await queries.rows<{ key: string }>(
        `select encode(key, 'base64') as key from kv_entry
         where chain_id = $1::bigint and version = $2::numeric and ordinal = $3::int and stream_id = $4::text`,
        [chainId, version, ordinal, streamId],
      )
    : [];
  if (rows[0]) return Buffer.from(rows[0].key, "base64");
  throw new AppError("invalid_cursor", "This cursor does not belong to this stream.", {
    param: "last" in page ? "before" : "after",
  });
}

type EntryRow = {
  stream_id: Hex;
  key: string;
  version: string;
  ordinal: number;
  size_bytes: string;
  value_offset: string;
  value: string | null;
  root: Hex;
  encryption_header: string | null;
};
type WalkRow = EntryRow & { is_last: boolean };
function toEntry(row: EntryRow): StoredEntry {
  return {
    streamId: row.stream_id,
    key: Buffer.from(row.key, "base64"),
    version: BigInt(row.version),
    sizeBytes: Number(row.size_bytes),
    offset: Number(row.value_offset),
    value: row.value === null ? undefined : Buffer.from(row.value, "base64"),
    root: row.root,
    encryptionHeader: row.encryption_header === null ? undefined : Buffer.from(row.encryption_header, "hex"),
    cursor: encodeCursor(LIST, row.version, String(row.ordinal)),
  };
}

const COLUMNS = `e.stream_id, encode(e.key, 'base64') as key, e.version::text as version, e.ordinal,
  e.size_bytes::text as size_bytes, e.value_offset::text as value_offset, encode(e.value, 'base64') as value,
  t.root, t.encryption_header`;
const INDEXED_BYTES = 512;
const STREAM = "e.chain_id = $1::bigint and e.stream_id = $2::text";
/** Maximum number of keys visited per walk, including deleted ones. */
const MAX_STEPS = 20_000;
/** A walk stops once it has read this many bytes of keys and values. */
const MAX_WALK_BYTES = 4 * 1_048_576;
const BYTES = "length(n.key) + coalesce(length(n.value), 0)";
const IS_LAST = `(e.step = ${MAX_STEPS} or e.bytes >= ${MAX_WALK_BYTES})`;
const WITH_FILE = "join kv_transaction t on t.chain_id = $1::bigint and t.tx_seq = e.version";

const ENTRY = `
  select ${COLUMNS}
  from (
    select * from kv_entry
    where chain_id = $1::bigint and stream_id = $2::text and version <= $3::numeric
      and key_head = substring(decode($4::text, 'base64') from 1 for 512) and key = decode($4::text, 'base64')
    order by kv_entry.version desc limit 1
  ) as e
  ${WITH_FILE}`;

/**
 * Walks from key to key with index lookups: the database's own DISTINCT ON would sort all following rows. The next head
 * comes first, in the order of the index, then the newest version of the nearest key with that head. To sort by head
 * and key at once would need a sort, which reads all following rows whenever the planner's statistics are older than
 * the stream; and they would prefer the transaction's index if they could estimate `version`.
 */
function walk(direction: "up" | "down", start: readonly string[], within: readonly string[]): string {
  const order = direction === "up" ? "asc" : "desc";
  const nearest = (conditions: readonly string[]) => `
    select e.version, e.ordinal, e.stream_id, e.key, e.key_head, e.size_bytes, e.value_offset, e.value
    from (
      select e.key_head from kv_entry e
      where ${[STREAM, "e.version + 0 <= $3::numeric", ...conditions, ...within].join(" and ")}
      order by e.key_head ${order} limit 1
    ) as next cross join lateral (
      select e.* from kv_entry e
      where ${[STREAM, "e.version <= $3::numeric", "e.key_head = next.key_head", ...conditions, ...within].join(" and ")}
      order by e.key ${order}, e.version desc limit 1
    ) as e`;
  return `
    with recursive walk as (
      select n.*, 1 as step, (n.size_bytes > 0)::int as found, ${BYTES} as bytes from (${nearest(start)}) as n
      union all
      select n.*, w.step + 1, w.found + (n.size_bytes > 0)::int, w.bytes + ${BYTES}
      from walk w cross join lateral (${nearest([beyond(direction, false, "w.key")])}) as n
      where w.found < $4::int and w.step < ${MAX_STEPS} and w.bytes < ${MAX_WALK_BYTES}
    )
    select ${COLUMNS}, ${IS_LAST} as is_last from walk as e ${WITH_FILE}
    where e.size_bytes > 0 or ${IS_LAST}
    order by e.step`;
}

/**
 * The condition for keys above or below a key. Only keys of 512 bytes and more share their head with others; for all
 * other keys the head alone determines where to begin, after the versions of the key itself.
 */
function beyond(direction: "up" | "down", isInclusive: boolean, key: string): string {
  const head = headOf(key);
  if (direction === "up") {
    if (isInclusive) return `e.key_head >= ${head} and e.key >= ${key}`;
    return `e.key_head >= (case when length(${key}) < ${INDEXED_BYTES} then ${key} || '\\x00'::bytea else ${head} end)
      and e.key > ${key}`;
  }
  if (isInclusive) return `e.key_head <= ${head} and e.key <= ${key}`;
  return `e.key_head < (case when length(${key}) < ${INDEXED_BYTES} then ${head} else ${head} || '\\x00'::bytea end)
    and e.key < ${key}`;
}

function withPrefix(prefix: Buffer, bytes: (value: Buffer) => string): readonly string[] {
  const place = bytes(prefix);
  const end = successor(prefix.subarray(0, INDEXED_BYTES));
  return [
    `e.key_head >= ${headOf(place)}`,
    `substring(e.key from 1 for length(${place})) = ${place}`,
    ...(end ? [`e.key_head < ${bytes(end)}`] : []),
  ];
}

function headOf(key: string): string {
  return `substring(${key} from 1 for ${INDEXED_BYTES})`;
}

/** The first bytes that sort after everything with this prefix; undefined when there are none. */
function successor(prefix: Buffer): Buffer | undefined {
  const last = prefix.findLastIndex((byte) => byte < 0xff);
  if (last < 0) return undefined;
  const next = Buffer.from(prefix.subarray(0, last + 1));
  next[last] = (next[last] ?? 0) + 1;
  return next;
}
