import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";

/** A stored block. */
export type Mark = { readonly number: bigint; readonly hash: Hex };

/** A watcher's progress and state; any process may read it. Numbers are undefined until known. */
export type WatcherStatus = {
  readonly state: WatcherState;
  readonly scannedBlock: bigint | undefined;
  readonly headBlock: bigint | undefined;
  readonly lagBlocks: bigint | undefined;
  /** How many blocks the latest reorg reverted; 0 if there was none. */
  readonly lastReorgDepth: number;
  /** Why the watcher halted, for people; undefined unless halted. */
  readonly note: string | undefined;
};
export type WatcherState =
  | "backfilling"
  | "following"
  | "halted_deep_reorg"
  | "rpc_unavailable"
  | "rpc_wrong_chain"
  | "rpc_behind"
  | "failing";

/** Whether a watcher in this state reads new blocks, and does not wait for its RPC, a handler or an operator. */
export function advances(state: WatcherState): boolean {
  return state === "following" || state === "backfilling";
}

/** A watcher's row: the chain of its first start, and the newest block whose logs are in the database, if any. */
type Cursor = { readonly chainId: number; readonly mark: Mark | undefined };

/** Reads the watcher's row, which is created for this chain if it is missing. */
export async function openCursor(queries: Queries, name: string, chainId: number): Promise<Cursor> {
  const cursor = await findCursor(queries, name);
  if (cursor) return cursor;
  await queries.rows(
    "insert into watcher_cursor (name, chain_id) values ($1, $2::bigint) on conflict do nothing",
    [name, chainId],
  );
  return (await findCursor(queries, name)) ?? { chainId, mark: undefined };
}

/** The newest block whose logs are in the database, undefined before the first. */
export async function readCursor(queries: Queries, name: string): Promise<Mark | undefined> {
  return (await findCursor(queries, name))?.mark;
}

async function findCursor(queries: Queries, name: string): Promise<Cursor | undefined> {
  type Row = { chain_id: string } & (MarkRow | { number: null });
  const [row] = await queries.rows<Row>(
    `select chain_id::text as chain_id, block_number::text as number, block_hash as hash
     from watcher_cursor where name = $1`,
    [name],
  );
  if (!row) return undefined;
  return { chainId: Number(row.chain_id), mark: row.number === null ? undefined : toMark(row) };
}

/** A move of the cursor, and the state of a watcher that makes it. */
export type CursorMove = {
  readonly from: Mark | undefined;
  readonly to: Mark | undefined;
  readonly head: bigint;
  readonly state: WatcherState;
  /** How many blocks it reverts; undefined if none. */
  readonly reorgDepth?: number;
};

/**
 * Moves the cursor if it is still at `from`, and returns whether it was. The row stays locked until the transaction
 * ends, so of two watchers with the same name only one can write what it read. Its state replaces what another process,
 * or an earlier one, recorded last. An acceptance ends with any move: if the old chain returned first, the operator did
 * not accept the next reorg.
 */
export async function moveCursor(
  tx: Queries,
  name: string,
  { from, to, head, state, reorgDepth }: CursorMove,
): Promise<boolean> {
  const moved = await tx.rows(
    `update watcher_cursor
     set block_number = $4::bigint, block_hash = $5, head_number = $6::bigint, state = $7, note = null,
       last_reorg_depth = coalesce($8::int, last_reorg_depth), accepted_at = null, updated_at = now()
     where name = $1 and block_number is not distinct from $2::bigint and block_hash is not distinct from $3
     returning name`,
    [
      name,
      from?.number.toString() ?? null,
      from?.hash ?? null,
      to?.number.toString() ?? null,
      to?.hash ?? null,
      head.toString(),
      state,
      reorgDepth ?? null,
    ],
  );
  return moved.length === 1;
}

/** Stores the state of a watcher that does not move its cursor, for other processes. */
export async function recordState(queries: Queries, name: string, status: WatcherStatus): Promise<void> {
  await queries.rows(
    `update watcher_cursor set state = $2, head_number = coalesce($3::bigint, head_number),
       note = $4, updated_at = now()
     where name = $1`,
    [name, status.state, status.headBlock?.toString() ?? null, status.note ?? null],
  );
}

/** The last recorded status of every watcher, by name. */
export async function readStatuses(queries: Queries): Promise<ReadonlyMap<string, WatcherStatus>> {
  type Row = {
    name: string;
    state: WatcherState;
    scanned: string | null;
    head: string | null;
    depth: number;
    note: string | null;
  };
  const rows = await queries.rows<Row>(
    `select name, state, block_number::text as scanned, head_number::text as head, last_reorg_depth as depth, note
     from watcher_cursor order by name`,
  );
  return new Map(
    rows.map(({ name, state, scanned, head, depth, note }) => [
      name,
      toStatus(
        state,
        scanned === null ? undefined : BigInt(scanned),
        head === null ? undefined : BigInt(head),
        depth,
        note ?? undefined,
      ),
    ]),
  );
}

/** Builds a status from its parts, and computes the lag. */
export function toStatus(
  state: WatcherState,
  scannedBlock: bigint | undefined,
  headBlock: bigint | undefined,
  lastReorgDepth: number,
  note?: string,
): WatcherStatus {
  const known = scannedBlock !== undefined && headBlock !== undefined;
  const lagBlocks = known ? (headBlock > scannedBlock ? headBlock - scannedBlock : 0n) : undefined;
  return { state, scannedBlock, headBlock, lagBlocks, lastReorgDepth, note };
}

/** The stored blocks of a range, highest first. */
export async function readMarks(
  queries: Queries,
  name: string,
  from: bigint,
  to: bigint,
): Promise<readonly Mark[]> {
  const rows = await queries.rows<MarkRow>(
    `select block_number::text as number, block_hash as hash from watcher_block
     where name = $1 and block_number between $2::bigint and $3::bigint order by block_number desc`,
    [name, from.toString(), to.toString()],
  );
  return rows.map(toMark);
}

/**
 * Stores blocks, and thins those below `keepFrom`, to which a halted watcher can roll back: of each aligned range, whose
 * length is a power of two and at most an eighth of its depth, the newest stays. A rollback thus reads at most half as
 * many blocks again as the reorg is deep, and a long chain has a few hundred marks. Block 0, which distinguishes one
 * chain from another, stays too.
 */
export async function keepMarks(
  tx: Queries,
  name: string,
  marks: readonly Mark[],
  keepFrom: bigint,
): Promise<void> {
  const blocks = marks.map(({ number, hash }) => ({ number: number.toString(), hash }));
  await tx.rows(
    `insert into watcher_block (name, block_number, block_hash)
     select $1, number, hash from jsonb_to_recordset($2::jsonb) as b(number bigint, hash text)
     on conflict (name, block_number) do update set block_hash = excluded.block_hash`,
    [name, JSON.stringify(blocks)],
  );
  await tx.rows(
    `delete from watcher_block where name = $1 and block_number = any(array(
       select number from (
         select block_number as number, lead(block_number) over (order by block_number) as next,
           1::bigint << greatest(floor(log(2, $2::numeric - block_number))::int - 3, 0) as length
         from watcher_block where name = $1 and block_number > 0 and block_number < $2::bigint
       ) as old
       where next / length = number / length
     ))`,
    [name, keepFrom.toString()],
  );
}

/** The block of a query's row, which has its number as text and its hash; undefined if it returns no row. */
export async function readMark(
  queries: Queries,
  sql: string,
  parameters: readonly unknown[],
): Promise<Mark | undefined> {
  return (await queries.rows<MarkRow>(sql, parameters)).map(toMark)[0];
}

/** Deletes the stored blocks from a height on. */
export async function dropMarks(tx: Queries, name: string, from: bigint): Promise<void> {
  await tx.rows("delete from watcher_block where name = $1 and block_number >= $2::bigint", [
    name,
    from.toString(),
  ]);
}

/** Whether an operator accepted the reorg that halted the watcher. */
export async function readAccepted(queries: Queries, name: string): Promise<boolean> {
  const rows = await queries.rows(
    "select 1 from watcher_cursor where name = $1 and accepted_at is not null",
    [name],
  );
  return rows.length === 1;
}

/** Records an acceptance for a halted watcher of this chain, and returns whether there is one. */
export async function recordAccepted(queries: Queries, name: string, chainId: number): Promise<boolean> {
  const rows = await queries.rows(
    `update watcher_cursor set accepted_at = now()
     where name = $1 and chain_id = $2::bigint and state = 'halted_deep_reorg' returning name`,
    [name, chainId],
  );
  return rows.length === 1;
}

type MarkRow = { number: string; hash: Hex };

function toMark({ number, hash }: MarkRow): Mark {
  return { number: BigInt(number), hash };
}
