import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { ControlRecord } from "./judge.ts";
import type { StreamKey } from "./stream-data.ts";
import { STREAM_DOMAIN } from "./stream-tags.ts";

/** A tagged submission that is not decided yet. */
export type PendingTransaction = {
  readonly txSeq: bigint;
  readonly root: Hex;
  readonly sizeBytes: number;
  readonly tags: Hex;
  readonly sender: Hex;
  readonly blockHash: Hex;
};

/** The outcome of a transaction. `result` is null for one whose streams are not held here. */
export type Decision = {
  readonly result: string | null;
  readonly isCommitted: boolean;
  /** For an encrypted file: with it and the configured key, every part of the file can be read. */
  readonly encryptionHeader: Buffer | undefined;
};

/** A stored write: a small value in `value`, a larger one in the file at `offset` of the plaintext. */
export type StoredWrite = StreamKey & {
  readonly sizeBytes: number;
  readonly offset: number;
  readonly value: Buffer | undefined;
};

/** The position of the replay. Everything below `nextSeq` is decided; every reorg starts a new `generation`. */
export type ReplayPlace = { readonly nextSeq: bigint; readonly generation: bigint };

const ROWS_PER_STATEMENT = 1_024;

/**
 * Initializes the position of the replay. When the setting `streams` differs from the last run, the whole replay is
 * deleted: the outcome of a transaction depends on which streams are held.
 */
export async function openReplay(tx: Queries, chainId: number, streams: string): Promise<void> {
  await tx.rows(
    "insert into kv_replay (chain_id, streams) values ($1::bigint, $2::text) on conflict do nothing",
    [chainId, streams],
  );
  const [row] = await tx.rows<{ streams: string }>(
    "select streams from kv_replay where chain_id = $1::bigint for update",
    [chainId],
  );
  if (row?.streams === streams) return;
  await forgetFrom(tx, chainId, 0n);
  await tx.rows("update kv_replay set streams = $2::text where chain_id = $1::bigint", [chainId, streams]);
}

export async function readPlace(queries: Queries, chainId: number): Promise<ReplayPlace> {
  const rows = await queries.rows<{ next_seq: string; generation: string }>(
    `select next_seq::text as next_seq, generation::text as generation from kv_replay where chain_id = $1::bigint`,
    [chainId],
  );
  return { nextSeq: BigInt(rows[0]?.next_seq ?? 0), generation: BigInt(rows[0]?.generation ?? 0) };
}

/** Records that everything below `nextSeq` is decided, unless a reorg happened in between. */
export async function movePlace(
  queries: Queries,
  chainId: number,
  { nextSeq, generation }: ReplayPlace,
): Promise<void> {
  await queries.rows(
    `update kv_replay set next_seq = $3::numeric
     where chain_id = $1::bigint and generation = $2::bigint and next_seq < $3::numeric`,
    [chainId, generation.toString(), nextSeq.toString()],
  );
}

/** Undecided tagged submissions starting at `from`, in the order of the chain. */
export async function listPending(
  queries: Queries,
  chainId: number,
  { from, limit }: { from: bigint; limit: number },
): Promise<readonly PendingTransaction[]> {
  const rows = await queries.rows<PendingRow>(PENDING, [chainId, from.toString(), limit]);
  return rows.map((row) => ({
    txSeq: BigInt(row.tx_seq),
    root: row.root,
    sizeBytes: Number(row.size_bytes),
    tags: row.tags,
    sender: row.transaction_sender,
    blockHash: row.block_hash,
  }));
}

/** Returns which of these submissions are tagged and not decided yet. */
export async function findPending(
  queries: Queries,
  chainId: number,
  txSeqs: readonly bigint[],
): Promise<readonly bigint[]> {
  const rows = await queries.rows<{ tx_seq: string }>(PENDING_AMONG, [
    chainId,
    JSON.stringify(txSeqs.map(String)),
  ]);
  return rows.map(({ tx_seq }) => BigInt(tx_seq));
}

/**
 * Claims the decision of a transaction. False when another process has decided it, or when its block was reorged out.
 * When true, the submission cannot be deleted before this database transaction ends.
 */
export async function takeDecision(
  tx: Queries,
  chainId: number,
  { txSeq, root, sender, blockHash }: PendingTransaction,
): Promise<boolean> {
  const there = await tx.rows(
    `select 1 as there from submission
     where chain_id = $1::bigint and tx_seq = $2::numeric and root = $3::text and block_hash = $4::text for share`,
    [chainId, txSeq.toString(), root, blockHash],
  );
  if (there.length === 0) return false;
  const claimed = await tx.rows(
    `insert into kv_transaction (chain_id, tx_seq, root, sender, is_committed)
     values ($1::bigint, $2::numeric, $3::text, $4::text, false)
     on conflict do nothing returning tx_seq`,
    [chainId, txSeq.toString(), root, sender],
  );
  return claimed.length === 1;
}

/** Stores the outcome of a transaction. */
export async function keepDecision(
  tx: Queries,
  chainId: number,
  txSeq: bigint,
  { result, isCommitted, encryptionHeader }: Decision,
): Promise<void> {
  await tx.rows(
    `update kv_transaction set result = $3::text, is_committed = $4::boolean, encryption_header = $5::text
     where chain_id = $1::bigint and tx_seq = $2::numeric`,
    [chainId, txSeq.toString(), result, isCommitted, encryptionHeader?.toString("hex") ?? null],
  );
}

/** Stores the writes of a transaction, at its version. */
export async function insertWrites(
  tx: Queries,
  chainId: number,
  version: bigint,
  writes: readonly StoredWrite[],
): Promise<void> {
  await inChunks(writes, async (chunk, first) => {
    const rows = chunk.map(({ streamId, key, sizeBytes, offset, value }, at) => ({
      ordinal: first + at,
      stream_id: streamId,
      key: key.toString("base64"),
      size_bytes: sizeBytes,
      value_offset: offset,
      value: value?.toString("base64") ?? null,
    }));
    await tx.rows(INSERT_WRITES, [chainId, version.toString(), JSON.stringify(rows)]);
  });
}

/** Stores the access control records of a transaction, at its version. */
export async function insertControls(
  tx: Queries,
  chainId: number,
  version: bigint,
  controls: readonly ControlRecord[],
): Promise<void> {
  await inChunks(controls, async (chunk, first) => {
    const rows = chunk.map(({ op, streamId, key, account }, at) => ({
      ordinal: first + at,
      stream_id: streamId,
      op,
      key: key.toString("base64"),
      account,
    }));
    await tx.rows(INSERT_CONTROLS, [chainId, version.toString(), JSON.stringify(rows)]);
  });
}

/** Records streams with the version of their first transaction. */
export async function insertStreams(
  tx: Queries,
  chainId: number,
  version: bigint,
  streamIds: readonly Hex[],
): Promise<void> {
  await tx.rows(
    `insert into kv_stream (chain_id, stream_id, first_version)
     select $1::bigint, s, $2::numeric from jsonb_array_elements_text($3::text::jsonb) as s
     on conflict do nothing`,
    [chainId, version.toString(), JSON.stringify(streamIds)],
  );
}

/**
 * Waits for pending decisions on the submissions of block `fromBlock` and above, blocks new ones, and returns the
 * lowest sequence number of these submissions.
 */
export async function lockSubmissions(
  tx: Queries,
  chainId: number,
  fromBlock: bigint,
): Promise<bigint | undefined> {
  const rows = await tx.rows<{ tx_seq: string }>(
    `select tx_seq::text as tx_seq from submission where chain_id = $1::bigint and block_number >= $2::bigint
     order by submission.tx_seq for update`,
    [chainId, fromBlock.toString()],
  );
  return rows[0] && BigInt(rows[0].tx_seq);
}

/** Deletes the outcomes from `version` on. Returns the transactions that had been committed, with their tags. */
export async function forgetFrom(
  tx: Queries,
  chainId: number,
  version: bigint,
): Promise<
  readonly { readonly txSeq: bigint; readonly root: Hex; readonly sender: Hex; readonly tags: Hex }[]
> {
  type Row = { tx_seq: string; root: Hex; sender: Hex; tags: Hex; is_committed: boolean };
  const parameters = [chainId, version.toString()];
  for (const statement of FORGET) await tx.rows(statement, parameters);
  const gone = await tx.rows<Row>(FORGET_TRANSACTIONS, parameters);
  await tx.rows(
    `update kv_replay set next_seq = least(next_seq, $2::numeric), generation = generation + 1
     where chain_id = $1::bigint`,
    parameters,
  );
  return gone
    .filter(({ is_committed }) => is_committed)
    .map(({ tx_seq, root, sender, tags }) => ({ txSeq: BigInt(tx_seq), root, sender, tags }))
    .sort((one, other) => (one.txSeq > other.txSeq ? -1 : 1));
}

async function inChunks<T>(
  rows: readonly T[],
  work: (chunk: readonly T[], first: number) => Promise<void>,
): Promise<void> {
  for (let first = 0; first < rows.length; first += ROWS_PER_STATEMENT)
    await work(rows.slice(first, first + ROWS_PER_STATEMENT), first);
}

type PendingRow = {
  tx_seq: string;
  root: Hex;
  size_bytes: string;
  tags: Hex;
  transaction_sender: Hex;
  block_hash: Hex;
};

const UNDECIDED = `left(s.tags, 66) = '${STREAM_DOMAIN}'
  and not exists (select 1 from kv_transaction t where t.chain_id = s.chain_id and t.tx_seq = s.tx_seq)`;

const PENDING = `
  select s.tx_seq::text as tx_seq, s.root, s.size_bytes::text as size_bytes, s.tags, s.transaction_sender, s.block_hash
  from submission s
  where s.chain_id = $1::bigint and s.tx_seq >= $2::numeric and ${UNDECIDED}
  order by s.tx_seq limit $3::int`;

const PENDING_AMONG = `
  select s.tx_seq::text as tx_seq from submission s
  where s.chain_id = $1::bigint and ${UNDECIDED}
    and s.tx_seq in (select a::numeric from jsonb_array_elements_text($2::text::jsonb) as a)`;

const INSERT_WRITES = `
  insert into kv_entry (chain_id, version, ordinal, stream_id, key, size_bytes, value_offset, value)
  select $1::bigint, $2::numeric, ordinal, stream_id, decode(key, 'base64'), size_bytes, value_offset,
    decode(value, 'base64')
  from jsonb_to_recordset($3::text::jsonb) as a(ordinal int, stream_id text, key text, size_bytes bigint,
    value_offset bigint, value text)`;

const INSERT_CONTROLS = `
  insert into kv_control (chain_id, version, ordinal, stream_id, op, key, account)
  select $1::bigint, $2::numeric, ordinal, stream_id, op, decode(key, 'base64'), account
  from jsonb_to_recordset($3::text::jsonb) as a(ordinal int, stream_id text, op smallint, key text, account text)`;

const FORGET = [
  "delete from kv_entry where chain_id = $1::bigint and version >= $2::numeric",
  "delete from kv_control where chain_id = $1::bigint and version >= $2::numeric",
  "delete from kv_stream where chain_id = $1::bigint and first_version >= $2::numeric",
];

const FORGET_TRANSACTIONS = `
  delete from kv_transaction t using submission s
  where t.chain_id = $1::bigint and t.tx_seq >= $2::numeric and s.chain_id = t.chain_id and s.tx_seq = t.tx_seq
  returning t.tx_seq::text as tx_seq, t.root, t.sender, s.tags, t.is_committed`;
