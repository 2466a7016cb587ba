import type { Queries } from "../../db/database.ts";
import {
  encodeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  type Scan,
  scanOf,
  toPage,
} from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";

/** The outcome of a transaction on streams. */
export type KvTransaction = {
  readonly txSeq: bigint;
  readonly root: Hex;
  readonly sender: Hex;
  /** "Commit", or why it was rejected; null when its streams are not held here. */
  readonly result: string | null;
  readonly isCommitted: boolean;
  readonly decidedAt: Date;
};

/** A stream, by its first transaction. */
export type KvStream = { readonly streamId: Hex; readonly firstVersion: bigint; readonly cursor: string };

/** The outcomes of transactions, in order; undefined for one that is undecided or does not write to streams. */
export async function findTransactions(
  queries: Queries,
  chainId: number,
  txSeqs: readonly bigint[],
): Promise<readonly (KvTransaction | undefined)[]> {
  const rows = await queries.rows<TransactionRow>(TRANSACTIONS, [
    chainId,
    JSON.stringify(txSeqs.map(String)),
  ]);
  const found = new Map(rows.map((row) => [BigInt(row.tx_seq), toTransaction(row)]));
  return txSeqs.map((txSeq) => found.get(txSeq));
}

/** The list of streams, in its cursors. */
const LIST = "kv-streams";

/** The streams that were written to, by id. */
export async function listStreams(
  queries: Queries,
  chainId: number,
  page: PageRequest,
): Promise<Page<KvStream>> {
  const scan = scanOf(page, "asc");
  const [start = scan.order === "asc" ? "" : BEYOND_IDS] = readPageCursor(page, LIST, 1) ?? [];
  const rows = await queries.rows<StreamRow>(streams(scan), [chainId, start, pageLimit(page)]);
  return toPage(rows.map(toStream), page);
}

/** The ids of at most `limit` streams, ascending. */
export async function listStreamIds(
  queries: Queries,
  chainId: number,
  limit: number,
): Promise<readonly Hex[]> {
  return (await queries.rows<StreamRow>(streams({ order: "asc", beyond: ">" }), [chainId, "", limit])).map(
    (row) => row.stream_id,
  );
}

/** A stream, undefined until it is written to. */
export async function findStream(
  queries: Queries,
  chainId: number,
  streamId: Hex,
): Promise<KvStream | undefined> {
  const rows = await queries.rows<StreamRow>(
    `select stream_id, first_version::text as first_version from kv_stream
     where chain_id = $1::bigint and stream_id = $2::text`,
    [chainId, streamId],
  );
  return rows.map(toStream)[0];
}

type TransactionRow = {
  tx_seq: string;
  root: Hex;
  sender: Hex;
  result: string | null;
  is_committed: boolean;
  decided_at_ms: string;
};
type StreamRow = { stream_id: Hex; first_version: string };

function toTransaction(row: TransactionRow): KvTransaction {
  return {
    txSeq: BigInt(row.tx_seq),
    root: row.root,
    sender: row.sender,
    result: row.result,
    isCommitted: row.is_committed,
    decidedAt: new Date(Number(row.decided_at_ms)),
  };
}

function toStream({ stream_id, first_version }: StreamRow): KvStream {
  return { streamId: stream_id, firstVersion: BigInt(first_version), cursor: encodeCursor(LIST, stream_id) };
}

const TRANSACTIONS = `
  select tx_seq::text as tx_seq, root, sender, result, is_committed,
    floor(extract(epoch from decided_at) * 1000)::bigint::text as decided_at_ms
  from kv_transaction
  where chain_id = $1::bigint and tx_seq in (select s::numeric from jsonb_array_elements_text($2::text::jsonb) as s)`;

/** Greater than every id, in every collation. */
const BEYOND_IDS = "0xz";

const streams = ({ order, beyond }: Scan) => `
  select stream_id, first_version::text as first_version from kv_stream
  where chain_id = $1::bigint and stream_id ${beyond} $2::text
  order by stream_id ${order} limit $3::int`;
