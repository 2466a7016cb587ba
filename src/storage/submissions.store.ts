import { countRows, type RowCount } from "../db/count-rows.ts";
import type { Queries } from "../db/database.ts";
import { Parameters } from "../db/parameters.ts";
import {
  encodeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  type Scan,
  scanOf,
  toPage,
} from "../kernel/page.ts";
import type { Hex } from "../kernel/text/hex.ts";
import type { Submission, SubmissionNode } from "./submission.ts";

/** A submission and its place on the chain. */
export type PlacedSubmission = Submission & {
  readonly chainId: number;
  readonly transactionHash: Hex;
  /** The signer of the transaction: unlike `submitter`, verified by the chain. */
  readonly transactionSender: Hex;
  readonly logIndex: number;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
};

/** A submission as it is stored. `cursor` is its place in every list of submissions. */
export type StoredSubmission = PlacedSubmission & { readonly seenAt: Date; readonly cursor: string };

/** An inserted or deleted submission. */
export type SubmissionChange = Pick<Submission, "root" | "txSeq" | "sizeBytes" | "sectors">;

/** The submissions of a list: those of a file, those that one account signed, or all. */
export type SubmissionFilter = { readonly root?: Hex; readonly sender?: Hex };

/** Filters files; every condition must hold. All are of a file's first submission; sizes are bytes, both bounds inclusive. */
export type FileFilter = {
  /** The account that signed the submission, in lower case. */
  readonly owner?: Hex | undefined;
  readonly minSize?: bigint | undefined;
  readonly maxSize?: bigint | undefined;
  /** First seen at this time or later. */
  readonly from?: Date | undefined;
  /** First seen before this time. */
  readonly before?: Date | undefined;
};

/** Inserts submissions and returns the new ones. */
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
  return (await tx.rows<ChangeRow>(INSERT, [JSON.stringify(rows)])).map(toChange);
}

/** Deletes the submissions of block `from` and above, and returns them. */
export async function deleteSubmissions(
  tx: Queries,
  chainId: number,
  from: bigint,
): Promise<readonly SubmissionChange[]> {
  return (await tx.rows<ChangeRow>(DELETE, [chainId, from.toString()])).map(toChange);
}

/** The submission with this sequence number, undefined if there is none. */
export async function findByTxSeq(
  queries: Queries,
  chainId: number,
  txSeq: bigint,
): Promise<StoredSubmission | undefined> {
  return (await queries.rows<SubmissionRow>(BY_TX_SEQ, [chainId, txSeq.toString()])).map(toSubmission)[0];
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

/** The lists, in their cursors. */
const SUBMISSIONS = "submissions";
const FILES = "files";

/** Submissions that match a filter, newest first. */
export async function listSubmissions(
  queries: Queries,
  chainId: number,
  filter: SubmissionFilter,
  page: PageRequest,
): Promise<Page<StoredSubmission>> {
  const limit = pageLimit(page);
  const { order, beyond } = scanOf(page, "desc");
  const where = new Parameters(chainId, readCursor(page, SUBMISSIONS, { order, beyond }), limit);
  const text = `
    select ${COLUMNS} from submission
    where submission.tx_seq ${beyond} $2::numeric and ${submissionConditions(where, filter)}
    order by submission.tx_seq ${order} limit $3::int`;
  return toPage((await queries.rows<SubmissionRow>(text, where.values)).map(toSubmission), page);
}

/** How many submissions match a filter. */
export function countSubmissions(
  queries: Queries,
  chainId: number,
  filter: SubmissionFilter,
): Promise<RowCount> {
  const where = new Parameters(chainId);
  const text = `select 1 from submission where ${submissionConditions(where, filter)}`;
  return countRows(queries, { text, values: where.values });
}

function submissionConditions(where: Parameters, { root, sender }: SubmissionFilter): string {
  return [
    "submission.chain_id = $1::bigint",
    ...where.when(root, (parameter) => `submission.root = ${parameter}`),
    ...where.when(sender, (parameter) => `submission.transaction_sender = ${parameter}`),
  ].join(" and ");
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

/** Files that match a filter, newest first by their first submission. */
export async function listFirst(
  queries: Queries,
  chainId: number,
  filter: FileFilter,
  page: PageRequest,
): Promise<Page<StoredSubmission>> {
  const limit = pageLimit(page);
  const { order, beyond } = scanOf(page, "desc");
  const where = new Parameters(chainId, readCursor(page, FILES, { order, beyond }), limit);
  const text = `
    select ${COLUMNS} from submission
    where submission.tx_seq ${beyond} $2::numeric and ${fileConditions(where, filter)}
    order by submission.tx_seq ${order} limit $3::int`;
  const rows = await queries.rows<SubmissionRow>(text, where.values);
  const files = rows.map((row) => ({ ...toSubmission(row), cursor: encodeCursor(FILES, row.tx_seq) }));
  return toPage(files, page);
}

/** How many files match a filter. */
export function countFirst(queries: Queries, chainId: number, filter: FileFilter): Promise<RowCount> {
  const where = new Parameters(chainId);
  const text = `select 1 from submission where ${fileConditions(where, filter)}`;
  return countRows(queries, { text, values: where.values });
}

function fileConditions(where: Parameters, filter: FileFilter): string {
  return [
    "submission.chain_id = $1::bigint",
    ...where.when(filter.owner, (parameter) => `submission.transaction_sender = ${parameter}`),
    ...where.when(
      filter.minSize?.toString(),
      (parameter) => `submission.size_bytes >= ${parameter}::numeric`,
    ),
    ...where.when(
      filter.maxSize?.toString(),
      (parameter) => `submission.size_bytes <= ${parameter}::numeric`,
    ),
    ...where.when(filter.from?.toISOString(), (parameter) => `submission.tx_seq >= ${seenFrom(parameter)}`),
    ...where.when(filter.before?.toISOString(), (parameter) => `submission.tx_seq < ${seenFrom(parameter)}`),
    `not exists (
      select 1 from submission as earlier
      where earlier.root = submission.root and earlier.chain_id = $1::bigint and earlier.tx_seq < submission.tx_seq
    )`,
  ].join(" and ");
}

/**
 * SQL: the number of the first submission that was seen at a time or later. Submissions are seen in the order of their
 * numbers, after a reorg too, so that a range of times is a range of the list.
 */
function seenFrom(time: string): string {
  return `coalesce((
      select b.tx_seq from submission b where b.chain_id = $1::bigint and b.seen_at >= ${time}::timestamptz
      order by b.seen_at, b.tx_seq limit 1), 1e20)`;
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

/** Beyond every sequence number: where a list without a cursor begins. */
const ENDS = { asc: "-1", desc: "1e20" } as const;

function readCursor(page: PageRequest, list: string, { order }: Scan): string {
  const key = readPageCursor(page, list, 1);
  if (!key) return ENDS[order];
  const [txSeq] = key;
  if (!txSeq || !/^\d{1,20}$/.test(txSeq)) throw invalidCursorOf(page);
  return txSeq;
}

type ChangeRow = { root: Hex; tx_seq: string; size_bytes: string; sectors: string };
type SubmissionRow = {
  chain_id: string;
  tx_seq: string;
  root: Hex;
  submitter: Hex;
  identity: Hex;
  size_bytes: string;
  start_entry_index: string;
  sectors: string;
  tags: Hex;
  nodes: string;
  transaction_hash: Hex;
  transaction_sender: Hex;
  log_index: number;
  block_number: string;
  block_hash: Hex;
  seen_at_ms: string;
};

function toChange({ root, tx_seq, size_bytes, sectors }: ChangeRow): SubmissionChange {
  return { root, txSeq: BigInt(tx_seq), sizeBytes: BigInt(size_bytes), sectors: BigInt(sectors) };
}

function toSubmission(row: SubmissionRow): StoredSubmission {
  return {
    chainId: Number(row.chain_id),
    txSeq: BigInt(row.tx_seq),
    root: row.root,
    submitter: row.submitter,
    identity: row.identity,
    sizeBytes: BigInt(row.size_bytes),
    startEntryIndex: BigInt(row.start_entry_index),
    sectors: BigInt(row.sectors),
    tags: row.tags,
    nodes: JSON.parse(row.nodes) as SubmissionNode[],
    transactionHash: row.transaction_hash,
    transactionSender: row.transaction_sender,
    logIndex: row.log_index,
    blockNumber: BigInt(row.block_number),
    blockHash: row.block_hash,
    seenAt: new Date(Number(row.seen_at_ms)),
    cursor: encodeCursor(SUBMISSIONS, row.tx_seq),
  };
}

const COLUMNS = `chain_id::text as chain_id, submission.tx_seq::text as tx_seq, root, submitter, identity,
  size_bytes::text as size_bytes, start_entry_index::text as start_entry_index, sectors::text as sectors, tags,
  nodes::text as nodes, transaction_hash, transaction_sender, log_index, block_number::text as block_number, block_hash,
  floor(extract(epoch from seen_at) * 1000)::bigint::text as seen_at_ms`;
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

const BY_TX_SEQ = `select ${COLUMNS} from submission where chain_id = $1::bigint and tx_seq = $2::numeric`;

// One index lookup per root: given the choice, a planner without statistics (PGlite's) reads the whole table.
const FIRST = `
  select earliest.*, (
    select count(*)::text from submission where chain_id = $1::bigint and root = wanted.root
  ) as submissions
  from (select distinct root from jsonb_array_elements_text($2::text::jsonb) as root) as wanted
  cross join lateral (
    select ${COLUMNS} from submission where chain_id = $1::bigint and root = wanted.root
    order by submission.tx_seq limit 1
  ) as earliest`;

const FROM = `
  select ${COLUMNS} from submission where chain_id = $1::bigint and tx_seq >= $2::numeric
  order by submission.tx_seq limit $3::int`;

const SYNCED = `
  select block_number::text as height, block_hash as hash from watcher_cursor
  where name = $1::text and block_number is not null`;

const NEXT =
  "select (coalesce(max(tx_seq), -1) + 1)::text as next from submission where chain_id = $1::bigint";
