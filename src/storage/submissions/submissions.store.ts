import { type Mark, readMark } from "../../chain/watcher/log-watcher.store.ts";
import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import {
  type PlacedSubmission,
  type StoredSubmission,
  SUBMISSION_COLUMNS,
  type SubmissionRow,
  toSubmission,
} from "./submission.row.ts";
import type { Submission } from "./submission.ts";

/** An inserted or deleted submission. */
export type SubmissionChange = Pick<Submission, "root" | "txSeq" | "sizeBytes" | "sectors">;

/** Inserts submissions and returns the new ones, in the order of the chain. */
export async function insertSubmissions(
  tx: Queries,
  submissions: readonly PlacedSubmission[],
): Promise<readonly SubmissionChange[]> {
  const rows = submissions.map((submission) => ({
    chain_id: submission.chainId,
    tx_seq: submission.txSeq.toString(),
    root: submission.root,
    submitter: submission.submitter,
    identity: submission.identity,
    size_bytes: submission.sizeBytes.toString(),
    start_entry_index: submission.startEntryIndex.toString(),
    sectors: submission.sectors.toString(),
    tags: submission.tags,
    nodes: submission.nodes,
    transaction_hash: submission.transactionHash,
    transaction_sender: submission.transactionSender,
    log_index: submission.logIndex,
    block_number: submission.blockNumber.toString(),
    block_hash: submission.blockHash,
  }));
  return inChainOrder((await tx.rows<ChangeRow>(INSERT, [JSON.stringify(rows)])).map(toChange));
}

/** Deletes the submissions of block `from` and above, and returns them, newest first. */
export async function deleteSubmissions(
  tx: Queries,
  chainId: number,
  from: bigint,
): Promise<readonly SubmissionChange[]> {
  const deleted = (await tx.rows<ChangeRow>(DELETE, [chainId, from.toString()])).map(toChange);
  return inChainOrder(deleted).toReversed();
}

/** The newest block at or below `upTo` with a submission, undefined if there is none. */
export function newestSubmissionBlock(
  queries: Queries,
  chainId: number,
  upTo: bigint,
): Promise<Mark | undefined> {
  return readMark(queries, NEWEST_BLOCK, [chainId, upTo.toString()]);
}

/** The submission with this sequence number, undefined if there is none. */
export async function findByTxSeq(
  queries: Queries,
  chainId: number,
  txSeq: bigint,
): Promise<StoredSubmission | undefined> {
  return (await queries.rows<SubmissionRow>(BY_TX_SEQ, [chainId, txSeq.toString()])).map(toSubmission)[0];
}

/** The first submission of a root with this size, among its first thousand; undefined if there is none. */
export async function findOfSize(
  queries: Queries,
  chainId: number,
  { root, sizeBytes }: Pick<Submission, "root" | "sizeBytes">,
): Promise<bigint | undefined> {
  const [row] = await queries.rows<{ tx_seq: string }>(OF_SIZE, [chainId, root, sizeBytes.toString()]);
  return row && BigInt(row.tx_seq);
}

/** For each of these roots that was ever submitted: its first submission and the number of submissions. */
export async function findFirst(
  queries: Queries,
  chainId: number,
  roots: readonly Hex[],
): Promise<readonly { readonly first: StoredSubmission; readonly submissions: number }[]> {
  type Row = SubmissionRow & { submissions: string };
  const rows = await queries.rows<Row>(FIRST, [chainId, JSON.stringify(roots)]);
  return rows.map((row) => ({ first: toSubmission(row), submissions: Number(row.submissions) }));
}

/** At most `limit` submissions starting at `txSeq`, oldest first. */
export async function listFrom(
  queries: Queries,
  chainId: number,
  txSeq: bigint,
  limit: number,
): Promise<readonly StoredSubmission[]> {
  return (await queries.rows<SubmissionRow>(FROM, [chainId, txSeq.toString(), limit])).map(toSubmission);
}

/** The number of submissions read so far, which is the sequence number of the next one. */
export async function nextTxSeq(queries: Queries, chainId: number): Promise<bigint> {
  const [row] = await queries.rows<{ next: string }>(NEXT, [chainId]);
  return BigInt(row?.next ?? 0);
}

/** The newest block that a watcher has read; undefined before the first. */
export async function readSynced(
  queries: Queries,
  watcher: string,
): Promise<{ readonly height: bigint; readonly hash: Hex } | undefined> {
  const [row] = await queries.rows<{ height: string; hash: Hex }>(SYNCED, [watcher]);
  return row && { height: BigInt(row.height), hash: row.hash };
}

type ChangeRow = { root: Hex; tx_seq: string; size_bytes: string; sectors: string };

function toChange({ root, tx_seq, size_bytes, sectors }: ChangeRow): SubmissionChange {
  return { root, txSeq: BigInt(tx_seq), sizeBytes: BigInt(size_bytes), sectors: BigInt(sectors) };
}

/** A statement returns what it changed in any order. */
function inChainOrder(changes: readonly SubmissionChange[]): readonly SubmissionChange[] {
  return changes.toSorted((one, other) => (one.txSeq < other.txSeq ? -1 : 1));
}

const CHANGED =
  "returning root, tx_seq::text as tx_seq, size_bytes::text as size_bytes, sectors::text as sectors";

const INSERT = `
  insert into submission (chain_id, tx_seq, root, submitter, identity, size_bytes, start_entry_index, sectors, tags,
    nodes, transaction_hash, transaction_sender, log_index, block_number, block_hash)
  select * from jsonb_to_recordset($1::text::jsonb) as a(chain_id bigint, tx_seq numeric, root text, submitter text,
    identity text, size_bytes numeric, start_entry_index numeric, sectors numeric, tags text, nodes jsonb,
    transaction_hash text, transaction_sender text, log_index int, block_number bigint, block_hash text)
  on conflict do nothing
  ${CHANGED}`;

const DELETE = `delete from submission where chain_id = $1::bigint and block_number >= $2::bigint ${CHANGED}`;

const NEWEST_BLOCK = `
  select block_number::text as number, block_hash as hash from submission
  where chain_id = $1::bigint and block_number <= $2::bigint order by block_number desc limit 1`;

const BY_TX_SEQ = `select ${SUBMISSION_COLUMNS} from submission where chain_id = $1::bigint and tx_seq = $2::numeric`;

/** Limited, because anyone who pays may submit a root again and again. */
const OF_SIZE = `
  select s.tx_seq::text as tx_seq
  from (
    select tx_seq, size_bytes from submission where chain_id = $1::bigint and root = $2::text order by tx_seq limit 1000
  ) as s
  where s.size_bytes = $3::numeric order by s.tx_seq limit 1`;

// One index lookup per root: given the choice, a planner without statistics (PGlite's) reads the whole table.
const FIRST = `
  select earliest.*, (
    select count(*)::text from submission where chain_id = $1::bigint and root = wanted.root
  ) as submissions
  from (select distinct root from jsonb_array_elements_text($2::text::jsonb) as root) as wanted
  cross join lateral (
    select ${SUBMISSION_COLUMNS} from submission where chain_id = $1::bigint and root = wanted.root
    order by submission.tx_seq limit 1
  ) as earliest`;

const FROM = `
  select ${SUBMISSION_COLUMNS} from submission where chain_id = $1::bigint and tx_seq >= $2::numeric
  order by submission.tx_seq limit $3::int`;

const SYNCED = `
  select block_number::text as height, block_hash as hash from watcher_cursor
  where name = $1::text and block_number is not null`;

const NEXT =
  "select (coalesce(max(tx_seq), -1) + 1)::text as next from submission where chain_id = $1::bigint";
