import type { Queries } from "../db/database.ts";
import type { Digest } from "../kernel/hash-in-parts.ts";
import { HASH_BYTES } from "./format/receipt.ts";
import type { SettledRow } from "./receipt-body.ts";

/** The log as it is continued: its size, the hashes of its `edgeNodes`, and that of its last leaf. */
export type LogState = {
  readonly size: number;
  readonly edge: readonly Uint8Array[];
  readonly lastLeaf: Uint8Array | undefined;
};

/** A receipt as it is stored: its canonical JSON, and the hashes of the subtrees that its leaf completes. */
export type StoredReceipt = {
  readonly leafIndex: number;
  readonly requestId: string;
  readonly account: string;
  readonly keyId: string | null;
  readonly body: string;
  readonly nodes: readonly Uint8Array[];
};

/** The newest signed head of the log: the note and its size. */
export type StoredCheckpoint = { readonly note: string; readonly size: number };

/** Locks the log, to continue it in this transaction. Undefined if another process does so now. */
export async function lockLog(tx: Queries): Promise<LogState | undefined> {
  const [row] = await tx.rows<{ size: string; edge: Uint8Array; last_leaf: Uint8Array | null }>(LOCK);
  if (!row) return undefined;
  return { size: Number(row.size), edge: hashesIn(row.edge), lastLeaf: row.last_leaf ?? undefined };
}

/** Takes the next drafts whose receipts can be made, at most `limit`, with what the receipts state. */
export function takeDrafts(tx: Queries, limit: number): Promise<readonly SettledRow[]> {
  return tx.rows<SettledRow>(TAKE, [limit]);
}

/** Appends receipts, and stores the log that they lead to. */
export async function appendReceipts(
  tx: Queries,
  receipts: readonly StoredReceipt[],
  log: LogState,
): Promise<void> {
  const column = (of: (receipt: StoredReceipt) => string | number) => receipts.map(of).join("\n");
  await tx.rows(APPEND, [
    column(({ leafIndex }) => leafIndex),
    column(({ requestId }) => requestId),
    column(({ account }) => account),
    column(({ keyId }) => keyId ?? ""),
    column(({ body }) => body),
    column(({ nodes }) => Buffer.concat(nodes).toString("hex")),
  ]);
  await tx.rows(CONTINUE, [log.size, Buffer.concat(log.edge), log.lastLeaf ?? null]);
}

/** The log without a lock, if its newest head was signed at least `seconds` ago and it has grown since. */
export async function readUnsigned(queries: Queries, seconds: number): Promise<LogState | undefined> {
  const [row] = await queries.rows<{ size: string; edge: Uint8Array }>(UNSIGNED, [seconds]);
  return row && { size: Number(row.size), edge: hashesIn(row.edge), lastLeaf: undefined };
}

/** Stores a signed head, unless that of a larger log is stored. */
export async function storeCheckpoint(queries: Queries, { note, size }: StoredCheckpoint): Promise<void> {
  await queries.rows(SIGN, [note, size]);
}

/** The newest signed head; undefined before the first. */
export async function readCheckpoint(queries: Queries): Promise<StoredCheckpoint | undefined> {
  const [row] = await queries.rows<{ checkpoint: string; checkpoint_size: string }>(CHECKPOINT);
  return row && { note: row.checkpoint, size: Number(row.checkpoint_size) };
}

/** The receipts of those of these requests that have one, of this account, and of this key if it is given. */
export async function readReceipts(
  queries: Queries,
  reach: { readonly account: string; readonly keyId?: string | undefined },
  requestIds: readonly string[],
): Promise<readonly StoredReceipt[]> {
  type Row = { request_id: string; api_key_id: string | null; body: string; nodes: Uint8Array };
  const { account, keyId } = reach;
  const ids = JSON.stringify(requestIds);
  const rows = await (keyId === undefined
    ? queries.rows<Row & { leaf_index: string }>(READ, [account, ids])
    : queries.rows<Row & { leaf_index: string }>(READ_OF_KEY, [account, ids, keyId]));
  return rows.map((row) => ({
    leafIndex: Number(row.leaf_index),
    requestId: row.request_id,
    account: reach.account,
    keyId: row.api_key_id,
    body: row.body,
    nodes: hashesIn(row.nodes),
  }));
}

/** Whether the request is known, and will have a receipt. */
export async function isExpected(
  queries: Queries,
  reach: { readonly account: string; readonly keyId?: string | undefined },
  requestId: string,
): Promise<boolean> {
  const { account, keyId } = reach;
  const found = await (keyId === undefined
    ? queries.rows(EXPECTED, [account, requestId])
    : queries.rows(EXPECTED_OF_KEY, [account, requestId, keyId]));
  return found.length > 0;
}

/** The hashes of the subtrees that each of these leaves completes, by leaf. */
export async function readNodes(
  queries: Queries,
  leaves: readonly number[],
): Promise<ReadonlyMap<number, readonly Uint8Array[]>> {
  if (leaves.length === 0) return new Map();
  const rows = await queries.rows<{ leaf_index: string; nodes: Uint8Array }>(NODES, [JSON.stringify(leaves)]);
  return new Map(rows.map((row) => [Number(row.leaf_index), hashesIn(row.nodes)]));
}

/** Completes drafts with the hashes of what the clients were sent. Returns the requests that have a draft. */
export async function storeReturned(
  queries: Queries,
  returned: readonly { readonly requestId: string; readonly digest: Digest }[],
): Promise<ReadonlySet<string>> {
  const rows = returned.map(({ requestId, digest }) => ({
    id: requestId,
    returned: `\\x${digest}`,
  }));
  const found = await queries.rows<{ id: string }>(RETURNED, [JSON.stringify(rows)]);
  return new Set(found.map(({ id }) => id));
}

function hashesIn(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

/** A process that hangs while it has the lock loses it, as the relay does. */
const LOCK = `
  select size::text as size, edge, last_leaf from receipt_log
  cross join (select set_config('idle_in_transaction_session_timeout', '15s', true)) as limited
  for update of receipt_log skip locked`;

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/**
 * Drafts are taken in the order of their ids, and so of time: in that of the table, each slice would read again past the
 * rows that earlier ones deleted. The request of a draft is looked up by its id: as a join, all requests were read where
 * there are few drafts. A request that has a receipt gets no second one: its draft is only deleted. A draft without a request stays: requests
 * are not deleted before they have a receipt.
 */
const TAKE = `
  with due as (
    select d.request_id from receipt_draft d
    where d.ready_at <= now() and (select true from inference_request r where r.id = d.request_id)
    order by d.request_id limit $1::int
  ), taken as (
    delete from receipt_draft where request_id = any(array(select request_id from due)) returning *
  )
  select t.request_id, t.endpoint, t.model_answered, t.digests, t.commitments, r.account, r.api_key_id::text as api_key_id,
    r.model, r.provider, r.status, r.input_tokens::text as input_tokens, r.output_tokens::text as output_tokens,
    r.cached_tokens::text as cached_tokens, r.cache_write_tokens::text as cache_write_tokens,
    r.cache_write_1h_tokens::text as cache_write_1h_tokens, r.units::text as units, r.usage_estimated,
    r.input_price::text as input_price, r.output_price::text as output_price, r.total_cost::text as total_cost,
    r.error_code, to_char(r.created_at at time zone 'UTC', ${ISO}) as started_at,
    to_char(r.finished_at at time zone 'UTC', ${ISO}) as finished_at,
    e.verdict, e.text_form, e.request_bound, e.response_bound, e.signer, e.signed_text
  from taken t
  join inference_request r on r.id = t.request_id
  left join request_evidence e on e.request_id = t.request_id
  where not exists (select 1 from receipt x where x.request_id = t.request_id)
  order by r.finished_at, r.id`;

/**
 * Each column is given as the lines of a text: canonical JSON has no line breaks, and as JSON in JSON a receipt would be
 * escaped and read again, which took as long as to insert it.
 */
const APPEND = `
  insert into receipt (leaf_index, request_id, account, api_key_id, body, nodes)
  select leaf_index::bigint, request_id, account, nullif(key_id, '')::uuid, body, decode(nodes, 'hex')
  from rows from (${[1, 2, 3, 4, 5, 6].map((n) => `string_to_table($${n}::text, E'\\n')`).join(", ")})
    as a(leaf_index, request_id, account, key_id, body, nodes)`;

const CONTINUE = `
  update receipt_log set size = $1::bigint, edge = $2::bytea, last_leaf = $3::bytea`;

const UNSIGNED = `
  select size::text as size, edge from receipt_log
  where size > coalesce(checkpoint_size, 0)
    and coalesce(checkpoint_at < now() - $1::int * interval '1 second', true)`;

const SIGN = `
  update receipt_log set checkpoint = $1::text, checkpoint_size = $2::bigint, checkpoint_at = now()
  where $2::bigint > coalesce(checkpoint_size, 0) and $2::bigint <= size`;

const CHECKPOINT = `
  select checkpoint, checkpoint_size::text as checkpoint_size from receipt_log where checkpoint is not null`;

const READ = `
  select leaf_index::text as leaf_index, request_id, api_key_id::text as api_key_id, body, nodes from receipt
  where request_id in (select jsonb_array_elements_text($2::jsonb)) and account = $1::text`;
const READ_OF_KEY = `${READ} and api_key_id = $3::uuid`;

const EXPECTED = `
  select 1 from inference_request r
  where r.id = $2::text and r.account = $1::text
    and (r.status = 'running' or exists (select 1 from receipt_draft d where d.request_id = r.id))`;
const EXPECTED_OF_KEY = `${EXPECTED} and r.api_key_id = $3::uuid`;

const NODES = `
  select leaf_index::text as leaf_index, nodes from receipt
  where leaf_index in (select (jsonb_array_elements_text($1::jsonb))::bigint)`;

/** By their index: the planner would read the whole table, with all rows that were deleted lately. */
const RETURNED = `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as a(id text, returned bytea)
  )
  update receipt_draft d
  set digests = substring(d.digests for ${3 * HASH_BYTES}) || a.returned, ready_at = now()
  from given a
  where d.request_id = a.id and d.request_id = any(array(select id from given))
  returning d.request_id as id`;
